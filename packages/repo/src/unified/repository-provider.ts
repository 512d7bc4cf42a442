import type { RepoError } from '../errors/repo-error.ts'
import type { CallOptions, MaintainMode, RepoOptions } from './backup-repo.ts'

/** Which implementation stands behind a provider. */
export type ProviderKind = 'kopia' | 'restic'

/** What became of one snapshot of a batch: `error` is there when it is still in the repository. */
export interface ForgetOutcome {
  readonly snapshotId: string
  /** True when it was not there in the first place. */
  readonly missing?: boolean
  readonly error?: RepoError
}

/** Manages repositories of one kind. `R` says where one is. Every call throws a RepoError when it fails. */
export interface RepositoryProvider<R = RepoOptions> {
  readonly kind: ProviderKind
  /** Creates the repository. Throws `ALREADY_EXISTS`. */
  initRepo(repo: R, call?: CallOptions): Promise<void>
  /** Checks that the repository is there and the password right. */
  connectToRepo(repo: R, call?: CallOptions): Promise<void>
  /** Connects, and creates the repository only when there is none. */
  prepareRepo(repo: R, call?: CallOptions): Promise<void>
  /** Frees what no snapshot needs any more, as far as the repository's safety rules allow it now. */
  pruneRepo(repo: R, call?: CallOptions & { readonly mode?: MaintainMode }): Promise<void>
  /** Removes locks that dead processes left behind; a repository without locks has none. */
  ensureUnlockRepo(repo: R, call?: CallOptions): Promise<void>
  /** Deletes a snapshot; a missing one is `MANIFEST_NOT_FOUND`. */
  forget(repo: R, snapshotId: string, call?: CallOptions): Promise<void>
  /** Deletes several, reporting on each; a missing one counts as deleted. */
  batchForget(repo: R, snapshotIds: readonly string[], call?: CallOptions): Promise<ForgetOutcome[]>
  /** Milliseconds between calls of `pruneRepo`. */
  defaultMaintenanceFrequency(): number
}

import { type BackupRepository, type BackupStorageLocation, repositoryTypeOf } from '@lateen/api'
import { noFence } from '@lateen/kube'
import {
  type ForgetOutcome,
  type RepositoryProvider,
  type ResticSettings,
  resticRepositoryProvider,
  unifiedRepositoryProvider,
} from '@lateen/repo/unified'
import { kopiaAccess, type RepositoryPorts, resticAccess } from './repository-access.ts'
import { RepositoryError } from './repository-error.ts'

/** What is done with a repository as a whole. Every call throws a RepoError when it fails. */
export interface ManagedRepository {
  /** Opens it, and makes it when there is none. */
  prepare(signal: AbortSignal): Promise<void>
  /** Frees what no snapshot needs any more: what is due of it, and as far as it is safe now. Locks of processes that have died go. */
  maintain(signal: AbortSignal): Promise<void>
  /** Deletes snapshots, telling of each; one that is not there counts as deleted. Locks of processes that have died go. */
  forget(snapshotIds: readonly string[], signal: AbortSignal): Promise<ForgetOutcome[]>
}

export interface ManagedRepositoryPorts extends RepositoryPorts {
  /** The restic of this machine; absent where there is none. */
  restic?: ResticSettings | undefined
}

/**
 * The repository that an object stands for, found but not opened. Throws `RESTIC_MISSING` for one in restic's format where there is no
 * restic, and as `kopiaAccess` does.
 */
export async function managedRepository(
  { spec }: BackupRepository,
  location: BackupStorageLocation,
  { restic, ...ports }: ManagedRepositoryPorts & { signal: AbortSignal },
): Promise<ManagedRepository> {
  const { signal, log } = ports
  const { volumeNamespace, backupStorageLocation, repositoryConfig: config } = spec
  const repositoryType = repositoryTypeOf(spec)
  const target = { key: { volumeNamespace, backupStorageLocation, repositoryType }, location, config }
  if (repositoryType === 'kopia') {
    const { repo, service } = await kopiaAccess(target, ports, signal)
    return bound(unifiedRepositoryProvider(service), repo, () => undefined)
  }
  if (restic === undefined) throw noRestic(volumeNamespace)
  const repo = await resticAccess({ ...target, identifier: spec.resticIdentifier }, ports, signal)
  const { fence = noFence } = ports
  return bound(resticRepositoryProvider(restic, log), repo, change =>
    fence.check(`${change} the repository ${repo.repository}`),
  )
}

/** `guard` is asked before each command; what it throws is the answer. The native format asks for every blob by itself. */
function bound<R>(
  provider: RepositoryProvider<R>,
  repo: R,
  guard: (change: string) => void,
): ManagedRepository {
  return {
    async prepare(signal) {
      guard('prepare')
      await provider.prepareRepo(repo, { signal })
    },
    async maintain(signal) {
      guard('unlock')
      await provider.ensureUnlockRepo(repo, { signal })
      guard('prune')
      await provider.pruneRepo(repo, { signal })
    },
    async forget(snapshotIds, signal) {
      guard('unlock')
      await provider.ensureUnlockRepo(repo, { signal })
      guard('forget snapshots of')
      return provider.batchForget(repo, snapshotIds, { signal })
    },
  }
}

function noRestic(volumeNamespace: string): RepositoryError {
  return new RepositoryError('RESTIC_MISSING', {
    reason: `the repository of the namespace ${volumeNamespace} is in restic's format, and there is no restic here`,
    hint: 'Use an image that has restic, or remove the BackupRepository if nothing in it is needed any more',
  })
}

import { isRepoError, RepoError } from '../../errors/repo-error.ts'
import {
  type BackupRepoService,
  type CallOptions,
  GeneralOption,
  MaintainMode,
  type RepoId,
  type RepoOptions,
} from '../backup-repo.ts'
import { forgetEach } from '../forget-each.ts'
import type { RepositoryProvider } from '../repository-provider.ts'

/** Manages unified repositories through the service, whatever stands behind it. */
export function unifiedRepositoryProvider(service: BackupRepoService): RepositoryProvider {
  const initRepo = (repo: RepoOptions, call?: CallOptions) => service.init(repo, { ...call, createNew: true })
  const connectToRepo = (repo: RepoOptions, call?: CallOptions) =>
    service.init(repo, { ...call, createNew: false })

  const forgetAll = async (repo: RepoOptions, snapshotIds: readonly string[], call?: CallOptions) => {
    await using opened = await service.open(repo, call)
    const outcomes = await forgetEach(snapshotIds, async id => {
      const { metadata } = await opened.getManifest(id as RepoId, call)
      if (metadata.labels.type !== 'snapshot') throw noSnapshot(id)
      await opened.deleteManifest(metadata.id, call)
    })
    await opened.flush(call)
    return outcomes
  }

  return {
    kind: 'kopia',
    initRepo,
    connectToRepo,
    prepareRepo: (repo, call) =>
      connectToRepo(repo, call).catch((error: unknown) => {
        if (isRepoError(error, 'NOT_A_REPOSITORY')) return initRepo(repo, call)
        throw error
      }),
    pruneRepo: (repo, { mode = MaintainMode.auto, signal } = {}) =>
      service.maintain(
        { ...repo, generalOptions: { ...repo.generalOptions, [GeneralOption.maintainMode]: mode } },
        { signal },
      ),
    ensureUnlockRepo: async () => {},
    async forget(repo, snapshotId, call) {
      const [outcome] = await forgetAll(repo, [snapshotId], call)
      if (outcome?.error !== undefined) throw outcome.error
      if (outcome?.missing) throw noSnapshot(snapshotId)
    },
    batchForget: forgetAll,
    defaultMaintenanceFrequency: () => service.defaultMaintenanceFrequency(),
  }
}

function noSnapshot(snapshotId: string): RepoError {
  return new RepoError('MANIFEST_NOT_FOUND', {
    message: `the repository has no snapshot ${snapshotId}`,
    hint: 'list the snapshots of the repository',
    snapshotId,
  })
}

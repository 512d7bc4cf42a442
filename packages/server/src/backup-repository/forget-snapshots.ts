import {
  apiVersionOf,
  type BackupRepository,
  type BackupRepositoryKey,
  BackupRepositoryKind,
  BackupStorageLocationKind,
  backupRepositoryName,
} from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import { isRepoError } from '@lateen/repo'
import { findRepository } from './ensure-repository.ts'
import { type ManagedRepositoryPorts, managedRepository } from './managed-repository.ts'
import { ensureRepositoryPassword } from './repository-password.ts'

export interface ForgetPorts extends ManagedRepositoryPorts {
  client: KubeClient
  /** Of the server's own objects. */
  namespace: string
}

/** Deletes snapshots from a repository and returns what could not be deleted, in words for people. Throws RepoErrors and KubeErrors. */
export type ForgetSnapshots = (
  key: BackupRepositoryKey,
  snapshotIds: readonly string[],
  signal: AbortSignal,
) => Promise<string[]>

/** Forgets in the repositories of a namespace's locations. A repository that is not there has nothing to forget. */
export function snapshotForgetter(ports: ForgetPorts): ForgetSnapshots {
  const { client, namespace, log } = ports
  return async (key, snapshotIds, signal) => {
    const location = await client
      .resource(BackupStorageLocationKind, namespace)
      .get(key.backupStorageLocation, { signal })
    // A server that never had a repository of its own has no password for those of others.
    await ensureRepositoryPassword({ client, namespace, log, signal })
    const repository = (await findRepository(key, { client, namespace, signal })) ?? unlisted(key)
    const managed = await managedRepository(repository, location, { ...ports, signal })
    try {
      const outcomes = await managed.forget(snapshotIds, signal)
      return outcomes.flatMap(({ snapshotId, error }) =>
        error === undefined
          ? []
          : [`error deleting the snapshot ${snapshotId} of ${key.volumeNamespace}: ${error.message}`],
      )
    } catch (error) {
      if (!isRepoError(error, 'NOT_A_REPOSITORY')) throw error
      log.warn({ volumeNamespace: key.volumeNamespace }, 'the repository of deleted volumes does not exist')
      return []
    }
  }
}

/** One whose object somebody has deleted, or that another cluster made. */
function unlisted(key: BackupRepositoryKey): BackupRepository {
  return {
    apiVersion: apiVersionOf(BackupRepositoryKind),
    kind: BackupRepositoryKind.kind,
    metadata: { name: backupRepositoryName(key) },
    spec: {
      volumeNamespace: key.volumeNamespace,
      backupStorageLocation: key.backupStorageLocation,
      repositoryType: key.repositoryType === 'kopia' ? 'kopia' : 'restic',
      maintenanceFrequency: '0s',
    },
  }
}

import { type BackupRepositoryKey, type PodVolumeBackup, PodVolumeBackupKind, readObject } from '@lateen/api'
import type { BackupStore } from '../backup-store/backup-store.ts'
import { messageOf } from '../item/item-error.ts'
import type { DeletionScope, DeletionStep } from './deletion-step.ts'
import { endMoves, movesInCluster } from './end-moves.ts'
import { isDamaged } from './stored-operations.ts'

/** Ends what is still moved of a backup's pod volumes, and has repositories forget their snapshots. What these take up is freed by maintenance. */
export const forgetVolumes: DeletionStep = {
  name: 'pod-volumes',
  runs: 'always',
  async run(scope) {
    const { store, backup } = scope
    if (store === undefined) return []
    const going = await endMoves({ kind: PodVolumeBackupKind, what: 'pod volume backup' }, scope)
    const inCluster = await movesInCluster(PodVolumeBackupKind, scope)
    const known = [...(await storedVolumes(scope, store)), ...inCluster]
    return [...going, ...(await forgetIn(byRepository(known, backup.spec.storageLocation ?? ''), scope))]
  },
}

/** Snapshots in a repository. */
export interface RepositorySnapshots {
  key: BackupRepositoryKey
  snapshotIds: string[]
}

/** Has repositories forget snapshots, and returns what could not be forgotten. Throws the signal's reason. */
export async function forgetIn(
  repositories: readonly RepositorySnapshots[],
  { forgetSnapshots, signal }: Pick<DeletionScope, 'forgetSnapshots' | 'signal'>,
): Promise<string[]> {
  const errors: string[] = []
  for (const { key, snapshotIds } of repositories) {
    if (forgetSnapshots === undefined) {
      errors.push(
        `${snapshotIds.length} snapshots of volumes of ${key.volumeNamespace} cannot be deleted by this server`,
      )
      continue
    }
    try {
      errors.push(...(await forgetSnapshots(key, snapshotIds, signal)))
    } catch (error) {
      signal.throwIfAborted()
      errors.push(`error deleting snapshots of volumes of ${key.volumeNamespace}: ${messageOf(error)}`)
    }
  }
  return errors
}

async function storedVolumes(scope: DeletionScope, store: BackupStore): Promise<PodVolumeBackup[]> {
  const { backup, log, signal, warn } = scope
  const { name = '' } = backup.metadata
  try {
    const found = await store.getJson({ of: 'backup', name, file: 'podVolumeBackups' }, signal)
    return (Array.isArray(found) ? found : []).flatMap(value => {
      const read = readObject(PodVolumeBackupKind, {
        apiVersion: 'velero.io/v1',
        kind: 'PodVolumeBackup',
        ...value,
      })
      return read.ok ? [read.object] : []
    })
  } catch (error) {
    signal.throwIfAborted()
    if (!isDamaged(error)) throw error
    log.warn({ error, backup: name }, 'the list of pod volumes of a deleted backup is damaged')
    await warn('BackupVolumesUnknown', `${messageOf(error)}. Snapshots that only this list knew of are left`)
    return []
  }
}

/** The snapshots of these volumes, each once, by the repository that they are in. */
export function byRepository(
  volumes: readonly PodVolumeBackup[],
  backupStorageLocation: string,
): RepositorySnapshots[] {
  const found = new Map<string, { key: BackupRepositoryKey; ids: Set<string> }>()
  for (const { spec, status } of volumes) {
    const volumeNamespace = spec.pod.namespace ?? ''
    if (!status?.snapshotID || volumeNamespace === '') continue
    const repositoryType = spec.uploaderType === 'kopia' ? 'kopia' : 'restic'
    const key = { volumeNamespace, backupStorageLocation, repositoryType }
    const text = `${volumeNamespace}/${repositoryType}`
    const entry = found.get(text) ?? { key, ids: new Set() }
    entry.ids.add(status.snapshotID)
    found.set(text, entry)
  }
  return [...found.values()].map(({ key, ids }) => ({ key, snapshotIds: [...ids] }))
}

import type { BackupStore } from '../backup-store/backup-store.ts'
import { messageOf } from '../item/item-error.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { deleteSnapshots } from '../volumes/delete-snapshots.ts'
import type { NativeSnapshot } from '../volumes/volume-backup.ts'
import type { DeletionScope, DeletionStep } from './deletion-step.ts'
import { isDamaged, storedOperations } from './stored-operations.ts'

/** Deletes the snapshots that storage providers took for a backup, also those that only its operations know of. */
export const deleteNativeSnapshots: DeletionStep = {
  name: 'native-snapshots',
  runs: 'always',
  async run(scope) {
    const { store, plugins, openSnapshotters, log, signal } = scope
    if (store === undefined) return []
    const operations = await storedOperations(scope, store)
    const snapshots = withOperations(await listedSnapshots(scope, store), operations)
    if (snapshots.length === 0) return []
    if (openSnapshotters === undefined) return ['this server has no volume snapshot locations']
    const snapshotters = openSnapshotters(plugins)
    const errors = await deleteSnapshots({ snapshots, operations, snapshotters, log, signal })
    return errors.map(({ message }) => message)
  },
}

async function listedSnapshots(scope: DeletionScope, store: BackupStore): Promise<NativeSnapshot[]> {
  const { backup, log, signal, warn } = scope
  const { name = '' } = backup.metadata
  try {
    const found = await store.getJson({ of: 'backup', name, file: 'volumeSnapshots' }, signal)
    return Array.isArray(found) ? found.filter(isSnapshot) : []
  } catch (error) {
    signal.throwIfAborted()
    if (!isDamaged(error)) {
      throw new Error(`error getting backup's volume snapshots: ${messageOf(error)}`, { cause: error })
    }
    log.warn({ error, backup: name }, 'the list of snapshots of a deleted backup is damaged')
    await warn(
      'BackupSnapshotsUnknown',
      `${messageOf(error)}. Snapshots that only this list knew of are left`,
    )
    return []
  }
}

function isSnapshot(value: unknown): value is NativeSnapshot {
  const { spec, status } = (value ?? {}) as { spec?: { location?: unknown }; status?: unknown }
  return typeof spec?.location === 'string' && typeof status === 'object' && status !== null
}

/** With snapshots that were begun, by a backup that came to no list of them. */
export function withOperations(
  listed: readonly NativeSnapshot[],
  operations: readonly BackupOperation[],
): NativeSnapshot[] {
  const isListed = (location: string, id: string) =>
    listed.some(({ spec, status }) => spec.location === location && status.providerSnapshotID === id)
  const begun = operations.flatMap(({ spec }): NativeSnapshot[] => {
    const { volumeSnapshotLocation: location, operationID, backupName, backupUID, resourceIdentifier } = spec
    if (location === undefined || isListed(location, operationID)) return []
    return [
      {
        spec: {
          backupName,
          backupUID,
          location,
          persistentVolumeName: resourceIdentifier.Name,
          providerVolumeID: '',
          volumeType: '',
        },
        status: { phase: 'New', providerSnapshotID: operationID },
      },
    ]
  })
  return [...listed, ...begun]
}

import type { Backup } from '@lateen/api'
import type { BackupStore } from '../backup-store/backup-store.ts'
import {
  distinctSnapshots,
  isContentOfBackup,
  type StoredSnapshot,
  snapshotsInVolumeInfo,
  storedContent,
  storedSnapshotOf,
  withGroupMembers,
  withSecretOfClass,
} from '../csi/stored-snapshot.ts'
import { messageOf } from '../item/item-error.ts'
import { type ArchivedSnapshots, addClass, archivedSnapshots } from './archived-snapshots.ts'
import { deleteCsiSnapshots } from './delete-csi-snapshots.ts'
import type { DeletionScope, DeletionStep } from './deletion-step.ts'
import { forgetIn } from './forget-volumes.ts'
import { deleteUploads, endUploads, movedSnapshots, uploadsInCluster } from './moved-data.ts'
import { isDamaged } from './stored-operations.ts'

/**
 * Deletes the snapshots that CSI drivers took for a backup, and has repositories forget what was moved there from such snapshots. A snapshot that could
 * not be deleted keeps the backup: nobody else knows of it.
 */
export const deleteVolumeData: DeletionStep = {
  name: 'volume-data',
  runs: 'always',
  once: true,
  async run(scope) {
    const { store } = scope
    if (store === undefined) return []
    const going = await endUploads(scope)
    const known = await knownSnapshots(scope, store)
    const snapshotErrors = await deleteCsiSnapshots(known.snapshots, scope)
    const uploads = [...known.dataUploads, ...(await uploadsInCluster(scope))]
    const moveErrors = [...going, ...(await forgetIn(movedSnapshots(uploads, scope.backup), scope))]
    if (moveErrors.length === 0) await deleteUploads(scope)
    return [...snapshotErrors, ...moveErrors]
  },
}

interface KnownSnapshots extends Pick<ArchivedSnapshots, 'dataUploads'> {
  snapshots: StoredSnapshot[]
}

/** What the files of a backup tell of its snapshots. The archive comes last: it may be large, and most have none. */
async function knownSnapshots(scope: DeletionScope, store: BackupStore): Promise<KnownSnapshots> {
  const { backup } = scope
  const { name = '' } = backup.metadata
  const listed = snapshotsInVolumeInfo(await fileOrNone('volumeInfo', scope, store))
  // Written by older versions of Velero.
  const contentsFile = await fileOrNone('csiVolumeSnapshotContents', scope, store)
  const classesFile = await fileOrNone('csiVolumeSnapshotClasses', scope, store)
  const mayHaveMore = listed.length > 0 || contentsFile !== undefined || hadOperations(backup)
  const archived: ArchivedSnapshots = mayHaveMore
    ? await archivedSnapshots(scope, store)
    : { contents: [], classes: new Map(), dataUploads: [] }
  for (const each of arrayOf(classesFile)) addClass(archived.classes, each)
  const contents = [...archived.contents, ...arrayOf(contentsFile).flatMap(each => storedContent(each) ?? [])]
  const stored = contents
    .filter(content => isContentOfBackup(content, name))
    .flatMap(content => storedSnapshotOf(content) ?? [])
    .map(snapshot => withSecretOfClass(snapshot, archived.classes))
  const together = stored.flatMap(withGroupMembers)
  const snapshots = distinctSnapshots([...stored, ...together, ...listed])
  return { dataUploads: archived.dataUploads, snapshots }
}

function hadOperations({ spec, status }: Backup): boolean {
  const { backupItemOperationsAttempted = 0, csiVolumeSnapshotsAttempted = 0 } = status ?? {}
  return (
    backupItemOperationsAttempted > 0 || csiVolumeSnapshotsAttempted > 0 || spec.snapshotMoveData === true
  )
}

function arrayOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** A damaged file tells nothing, and no attempt would mend it. */
async function fileOrNone(
  file: 'volumeInfo' | 'csiVolumeSnapshotContents' | 'csiVolumeSnapshotClasses',
  { backup, log, signal, warn }: DeletionScope,
  store: BackupStore,
): Promise<unknown> {
  const { name = '' } = backup.metadata
  try {
    return await store.getJson({ of: 'backup', name, file }, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!isDamaged(error)) throw error
    log.warn({ error, backup: name, file }, 'a file about the snapshots of a deleted backup is damaged')
    await warn(
      'BackupSnapshotsUnknown',
      `${messageOf(error)}. Snapshots that only this file knew of are left`,
    )
    return undefined
  }
}

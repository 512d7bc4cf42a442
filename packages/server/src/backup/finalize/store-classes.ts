import type { BackupStore } from '../../backup-store/backup-store.ts'
import type { VolumeSnapshotClass } from '../../csi/snapshot-kinds.ts'
import { fileOf } from './add-to-report.ts'
import type { ChangedFiles } from './changed-files.ts'

const classFolder = 'resources/volumesnapshotclasses.snapshot.storage.k8s.io/cluster/'

/**
 * Stores the classes of the snapshots of a backup in a file of their own, where another cluster finds them without its archive. Goes before the
 * archive is replaced: once that has them, nobody looks at them again. Throws ScratchError and ObjectStoreError.
 */
export async function storeClasses(
  changed: ChangedFiles,
  scope: Parameters<typeof fileOf>[0] & { store: BackupStore; signal: AbortSignal },
): Promise<void> {
  const { store, signal } = scope
  const used = (await changed.within(classFolder)).map(
    content => JSON.parse(Buffer.from(content).toString()) as VolumeSnapshotClass,
  )
  if (used.length === 0) return
  const file = fileOf(scope, 'csiVolumeSnapshotClasses')
  const before = ((await store.getJson(file, signal)) ?? []) as VolumeSnapshotClass[]
  await store.putJson(file, mergeClasses(before, used), signal)
}

/** Each class once, as it was seen last, in order of names. */
export function mergeClasses(
  before: readonly VolumeSnapshotClass[],
  used: readonly VolumeSnapshotClass[],
): VolumeSnapshotClass[] {
  const byName = new Map([...before, ...used].map(each => [each.metadata.name ?? '', each]))
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each)
}

import { nativeSnapshotInfo } from './native-snapshot-info.ts'
import type { NativeSnapshot } from './volume-backup.ts'
import type { VolumeInfo } from './volume-info.ts'

/** A snapshot, with what the volume info of the backup says about it. */
export interface RecordedSnapshot {
  snapshot: NativeSnapshot
  volumeInfo: VolumeInfo
}

/** The same as failed. The id stays, because whoever deletes the backup deletes what there is of the snapshot. */
export function failedSnapshot({ snapshot, volumeInfo }: RecordedSnapshot): RecordedSnapshot {
  const failed: NativeSnapshot = { ...snapshot, status: { ...snapshot.status, phase: 'Failed' } }
  return { snapshot: failed, volumeInfo: nativeSnapshotInfo(failed, volumeInfo) }
}

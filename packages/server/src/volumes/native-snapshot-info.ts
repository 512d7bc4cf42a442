import type { NativeSnapshot } from './volume-backup.ts'
import type { VolumeInfo } from './volume-info.ts'

/** What the volume info of a backup says about a snapshot of a volume; `volume` is what it says of every volume. */
export function nativeSnapshotInfo({ spec, status }: NativeSnapshot, volume: VolumeInfo): VolumeInfo {
  return {
    ...volume,
    backupMethod: 'NativeSnapshot',
    result: status.phase === 'Completed' ? 'succeeded' : 'failed',
    nativeSnapshotInfo: {
      snapshotHandle: status.providerSnapshotID ?? '',
      volumeType: spec.volumeType,
      volumeAZ: spec.volumeAZ ?? '',
      iops: `${spec.volumeIOPS ?? 0}`,
      Phase: status.phase,
    },
  }
}

import type { BackupOperation } from '../operations/backup-operation.ts'
import { failedSnapshot } from './failed-snapshot.ts'
import type { NativeSnapshot } from './volume-backup.ts'
import type { VolumeInfo } from './volume-info.ts'

/** What the files of a backup say about its volumes, as far as snapshots are concerned. */
export interface SnapshotFiles {
  /** `-volumesnapshots.json.gz`. */
  volumeSnapshots: readonly NativeSnapshot[]
  /** `-volumeinfo.json.gz`. */
  volumeInfo: readonly VolumeInfo[]
}

/**
 * The files after their operations: a snapshot whose operation has failed is Failed in both. The very same when nothing is different,
 * so that settling what is settled changes nothing.
 */
export function settleSnapshots<Files extends SnapshotFiles>(
  files: Files,
  operations: readonly BackupOperation[],
): Files {
  const lost = new Set(
    operations
      .filter(({ spec, status }) => spec.volumeSnapshotLocation !== undefined && status.phase === 'Failed')
      .map(({ spec }) => keyOf(spec.volumeSnapshotLocation, spec.operationID)),
  )
  const isLost = ({ spec, status }: NativeSnapshot) =>
    status.phase !== 'Failed' && lost.has(keyOf(spec.location, status.providerSnapshotID))
  const failing = new Map(
    files.volumeSnapshots.filter(isLost).map(each => [each.spec.persistentVolumeName, each]),
  )
  if (failing.size === 0) return files
  return {
    ...files,
    volumeSnapshots: files.volumeSnapshots.map(snapshot =>
      failing.get(snapshot.spec.persistentVolumeName) === snapshot
        ? { ...snapshot, status: { ...snapshot.status, phase: 'Failed' as const } }
        : snapshot,
    ),
    volumeInfo: files.volumeInfo.map(info => {
      const snapshot = failing.get(info.pvName ?? '')
      if (snapshot === undefined || info.backupMethod !== 'NativeSnapshot') return info
      return failedSnapshot({ snapshot, volumeInfo: info }).volumeInfo
    }),
  }
}

/** How many there are and how many of them can be restored, as the status of the backup has it. Absent where there are none. */
export function snapshotCounts(
  snapshots: readonly NativeSnapshot[],
): { volumeSnapshotsAttempted: number; volumeSnapshotsCompleted: number } | undefined {
  if (snapshots.length === 0) return undefined
  const completed = snapshots.filter(({ status }) => status.phase === 'Completed').length
  return { volumeSnapshotsAttempted: snapshots.length, volumeSnapshotsCompleted: completed }
}

function keyOf(location: string | undefined, id: string | undefined): string {
  return JSON.stringify([location, id])
}

import { createHash } from 'node:crypto'

/**
 * The name of both objects, VolumeSnapshot and VolumeSnapshotContent, by which a restore reads a snapshot. Another restore of the same
 * backup has another. With 68 characters it is too long for the value of a label.
 */
export function restoredSnapshotName(restoreUid: string, snapshotUid: string): string {
  return `vsc-${createHash('sha256').update(`${restoreUid}/${snapshotUid}`).digest('hex')}`
}

import { lateenAnnotation } from '@lateen/api'
import type { VolumeSnapshotClass } from './snapshot-kinds.ts'

/** On a class that came from a bucket with a backup of another cluster. */
export const syncedClassAnnotation = lateenAnnotation('synced')

/** The classes that a cluster has of its own; those that came from buckets only where there are no others. */
export function ownClasses(classes: readonly VolumeSnapshotClass[]): VolumeSnapshotClass[] {
  const own = classes.filter(({ metadata }) => metadata.annotations?.[syncedClassAnnotation] === undefined)
  return own.length > 0 ? own : [...classes]
}

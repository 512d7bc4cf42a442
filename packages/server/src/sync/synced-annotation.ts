import { type Backup, lateenAnnotation } from '@lateen/api'

/**
 * On a backup that was found in a bucket and not made in this cluster: `true`, or `without-volumes` until all its
 * PodVolumeBackups and the classes of its snapshots are here, too, so that whoever dies in between is made up for.
 */
export const syncedAnnotation = lateenAnnotation('synced')

export type SyncedState = 'true' | 'without-volumes'

/** Whether a backup was found in a bucket. */
export function isSynced({ metadata }: Backup): boolean {
  return metadata.annotations?.[syncedAnnotation] !== undefined
}

/** Whether what belongs to a backup that was found in a bucket may be missing. */
export function lacksVolumes({ metadata }: Backup): boolean {
  return metadata.annotations?.[syncedAnnotation] === 'without-volumes'
}

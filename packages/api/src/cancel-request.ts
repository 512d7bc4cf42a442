import type { CustomObject } from './kind.ts'
import { lateenAnnotation } from './lateen-annotation.ts'

/** On a Backup or Restore: `true` asks the server to stop it. */
export const cancelAnnotation = lateenAnnotation('cancel')

/** The reason of whatever ended because somebody asked for it. */
export const cancelledByRequest = 'cancelled by request'

/** Whether somebody asked for the end of a backup or restore. */
export function isCancelRequested({ metadata }: Pick<CustomObject, 'metadata'>): boolean {
  return metadata.annotations?.[cancelAnnotation] === 'true'
}

import type { annotationNames } from '@lateen/api'

/**
 * By this annotation, with any value, an action says that the object is not to be in the backup. Written out, so that a plugin
 * program does not load every kind for it.
 */
export const skipFromBackup: (typeof annotationNames)['skipFromBackup'] = 'velero.io/skip-from-backup'

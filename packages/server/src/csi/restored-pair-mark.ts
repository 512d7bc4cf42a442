import { labelNames, lateenAnnotation, type Restore, validLabelValue } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'

/** On VolumeSnapshots and contents that a restore made to fill volumes from: `namespace/name` of the restore. Only these are ever removed. */
export const restoredByAnnotation = lateenAnnotation('restored-by')

type Metadata = ActionItem['metadata']

/** Whether a VolumeSnapshot of a backup was taken by that backup, and not by a user. */
export function isTakenByBackup({ labels }: Metadata, { spec }: Restore): boolean {
  return labels?.[labelNames.backupName] === validLabelValue(spec.backupName ?? '')
}

/** The same metadata for an object that lives only until the volume is filled. */
export function markedAsPair(metadata: Metadata, { metadata: restore }: Restore): Metadata {
  return {
    ...metadata,
    labels: {
      ...metadata.labels,
      [labelNames.restoreUid]: restore.uid ?? '',
      // It is gone before that backup would be restored.
      [labelNames.excludeFromBackup]: 'true',
    },
    annotations: { ...metadata.annotations, [restoredByAnnotation]: `${restore.namespace}/${restore.name}` },
  }
}

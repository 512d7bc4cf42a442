import { annotationNames } from '@lateen/api'
import type { RestoreItemAction } from '@lateen/plugin'
import { volumeOf } from '../claim-action.ts'
import { removeEntries } from './remove-fields.ts'

// What the cluster wrote on the claim when it was bound, and Velero when it was backed up.
const staleAnnotations: readonly string[] = [
  'pv.kubernetes.io/bind-completed',
  'pv.kubernetes.io/bound-by-controller',
  'volume.kubernetes.io/storage-provisioner',
  'volume.beta.kubernetes.io/storage-provisioner',
  'volume.kubernetes.io/selected-node',
  annotationNames.volumeSnapshotName,
  annotationNames.dataUploadName,
]

/** `velero.io/pvc`: a claim loses what it was bound by; the volume of one that was bound comes before it. */
export const claimAction: RestoreItemAction = {
  appliesTo: async () => ({ includedResources: ['persistentvolumeclaims'] }),
  async execute({ item, itemFromBackup }) {
    removeEntries(item.metadata, 'annotations', staleAnnotations)
    // Its status says whether it was bound, and is no longer in the item.
    const volume = volumeOf(itemFromBackup)
    return { item, additionalItems: volume === undefined ? [] : [volume] }
  },
}

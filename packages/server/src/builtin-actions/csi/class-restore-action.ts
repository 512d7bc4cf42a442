import { annotationNames } from '@lateen/api'
import type { RestoreItemAction } from '@lateen/plugin'
import { secretOf } from './content-restore-action.ts'

/** `velero.io/csi-volumesnapshotclass-restorer`: a class takes along the secret for listing snapshots. */
export const classRestoreAction: RestoreItemAction = {
  appliesTo: async () => ({ includedResources: ['volumesnapshotclasses.snapshot.storage.k8s.io'] }),
  async execute({ item, restore }) {
    if (restore.spec.restorePVs === false) return { item, skip: true }
    const additionalItems = secretOf(item, {
      name: annotationNames.snapshotterListSecretName,
      namespace: annotationNames.snapshotterListSecretNamespace,
    })
    return { item, additionalItems }
  },
}

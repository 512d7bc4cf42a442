import { annotationNames } from '@lateen/api'
import type { BackupItemAction } from '@lateen/plugin'
import { snapshotGroup } from '../../csi/snapshot-kinds.ts'
import { secretNamed } from './content-backup-action.ts'
import { mustInclude } from './snapshot-backup-action.ts'

/** `velero.io/csi-volumesnapshotclass-backupper`: a VolumeSnapshotClass takes the secret along with which snapshots are listed. */
export const csiClassBackupAction: BackupItemAction = {
  appliesTo: async () => ({ includedResources: [`volumesnapshotclasses.${snapshotGroup}`] }),
  async execute({ item }) {
    const secrets = secretNamed(item.metadata.annotations, {
      name: annotationNames.snapshotterListSecretName,
      namespace: annotationNames.snapshotterListSecretNamespace,
    })
    if (secrets.length === 0) return { item, unchanged: true }
    return { item: mustInclude(item), additionalItems: secrets }
  },
}

import type { RestoreItemAction } from '@lateen/plugin'

/** `velero.io/dataupload`: no DataUpload is restored. What it says is read from the backup when its claim is. */
export const dataUploadRestoreAction: RestoreItemAction = {
  appliesTo: async () => ({ includedResources: ['datauploads.velero.io'] }),
  execute: async ({ item }) => ({ item, skip: true }),
}

/** Names of finalizers. */
export const finalizerNames = {
  /** Keeps a Restore until its files in the object store are gone. */
  restoreExternalResources: 'restores.velero.io/external-resources-finalizer',
  /** Keeps a DataUpload or DataDownload until what it made in the cluster is gone. */
  dataMove: 'velero.io/data-upload-download-finalizer',
  /** Keeps a PodVolumeBackup or PodVolumeRestore until what it made in the cluster is gone. */
  podVolume: 'velero.io/pod-volume-finalizer',
  /** Keeps a VolumeSnapshotContent while a backup works with it. */
  volumeSnapshotContentProtect: 'velero.io/volume-snapshot-content-protect-finalizer',
} as const

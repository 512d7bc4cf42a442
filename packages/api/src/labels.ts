/** Names of labels. Values made from object names go through `validLabelValue`. */
export const labelNames = {
  /** The backup an object belongs to or was restored from. On restored objects, PVBs, DataUploads, deletion requests, snapshots. */
  backupName: 'velero.io/backup-name',
  /** Identity of that backup. On PVBs, DataUploads, deletion requests. */
  backupUid: 'velero.io/backup-uid',
  /** The restore an object belongs to or was made by. On restored objects, PVRs, DataDownloads. */
  restoreName: 'velero.io/restore-name',
  /** Identity of that restore. On PVRs, DataDownloads, ConfigMaps with upload results. */
  restoreUid: 'velero.io/restore-uid',
  /** The schedule a backup was made by. */
  scheduleName: 'velero.io/schedule-name',
  /** The storage location. On Backups, BackupRepositories, PVBs. */
  storageLocation: 'velero.io/storage-location',
  /** Identity of the pod. On PVRs. */
  podUid: 'velero.io/pod-uid',
  /** Identity of the claim. On PVBs, PVRs, DataUploads. */
  pvcUid: 'velero.io/pvc-uid',
  /** The namespace whose volumes a BackupRepository keeps. */
  volumeNamespace: 'velero.io/volume-namespace',
  /** The format of a BackupRepository. */
  repositoryType: 'velero.io/repository-type',
  /** The DataUpload a pod works for. */
  dataUpload: 'velero.io/data-upload',
  /** The DataDownload a pod works for. */
  dataDownload: 'velero.io/data-download',
  /** The PodVolumeBackup a pod works for. */
  podVolumeBackup: 'velero.io/pod-volume-backup',
  /** The PodVolumeRestore a pod works for. */
  podVolumeRestore: 'velero.io/pod-volume-restore',
  /** Which sort of exposing a pod does. On pods that expose volumes. */
  exposerPodGroup: 'velero.io/exposer-pod-group',
  /** Present while a volume is being exposed; the count of them limits new ones. On PVBs, PVRs, DataUploads, DataDownloads. */
  exposeOnGoing: 'velero.io/expose-on-going',
  /** Marks the ConfigMap that tells a deletion which snapshot a DataUpload made. */
  dataUploadSnapshotInfo: 'velero.io/data-upload-snapshot-info',
  /** The asynchronous operation. On DataUploads, DataDownloads. */
  asyncOperationId: 'velero.io/async-operation-id',
  /** Namespace and name of the claim. On ConfigMaps with upload results. */
  pvcNamespaceName: 'velero.io/pvc-namespace-name',
  /** What a helper object is for. On ConfigMaps with upload results. */
  resourceUsage: 'velero.io/resource-usage',
  /** With the value `true`, keeps an object, or everything in a namespace, out of backups. */
  excludeFromBackup: 'velero.io/exclude-from-backup',
  /** Claims with the same value are snapshot together, unless the backup names another label. */
  volumeGroup: 'velero.io/volume-group',
  /** Ties a claim to the volume that a data download made for it. */
  dynamicPvRestore: 'velero.io/dynamic-pv-restore',
  /** The VolumeSnapshot a claim is restored from. */
  volumeSnapshotName: 'velero.io/volume-snapshot-name',
  /** Marks the VolumeSnapshotClass to use for its driver. */
  volumeSnapshotClass: 'velero.io/csi-volumesnapshot-class',
  /** Marks the VolumeGroupSnapshotClass to use for its driver. */
  volumeGroupSnapshotClass: 'velero.io/csi-volumegroupsnapshot-class',
  /** Why an expired backup could not be deleted. On Backups. */
  gcFailure: 'velero.io/gc-failure',
  /** The repository a maintenance Job works for. */
  repositoryName: 'velero.io/repo-name',
  /** Marks a ConfigMap with settings of plugins. */
  pluginConfig: 'velero.io/plugin-config',
  /** On everything that the installer creates, with the value `velero`. */
  component: 'component',
} as const

/** The label that node agents and maintenance Jobs pass on to their pods. */
export const inheritedLabels = ['azure.workload.identity/use'] as const

/** Keys of the tolerations that node agents and maintenance Jobs pass on to their pods. */
export const inheritedTolerations = ['kubernetes.azure.com/scalesetpriority', 'CriticalAddonsOnly'] as const

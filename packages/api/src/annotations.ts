/** Names of annotations. */
export const annotationNames = {
  /** Overrides how long pod volume backups may take. On Backups. */
  podVolumeTimeout: 'velero.io/pod-volume-timeout',
  /** Git version of the cluster that was backed up. On Backups. */
  sourceClusterGitVersion: 'velero.io/source-cluster-k8s-gitversion',
  /** Major version of the cluster that was backed up. On Backups. */
  sourceClusterMajorVersion: 'velero.io/source-cluster-k8s-major-version',
  /** Minor version of the cluster that was backed up. On Backups. */
  sourceClusterMinorVersion: 'velero.io/source-cluster-k8s-minor-version',
  /** The server's resource timeout, for plugins. On Backups. */
  resourceTimeout: 'velero.io/resource-timeout',
  /** The ConfigMap with the volume policies of the server that applied. On Backups. */
  globalBackupVolumePolicyConfigMap: 'velero.io/global-backup-volume-policy-configmap',
  /** Volumes to back up from the file system, separated by commas. On Pods. */
  backupVolumes: 'backup.velero.io/backup-volumes',
  /** Volumes not to back up from the file system, separated by commas. On Pods. */
  backupVolumesExcludes: 'backup.velero.io/backup-volumes-excludes',
  /** Set by a backup plugin on an item that must be left out. */
  skipFromBackup: 'velero.io/skip-from-backup',
  /** Set by a backup plugin whose additional items must be backed up whatever the filters say. */
  backupMustIncludeAdditionalItems: 'backup.velero.io/must-include-additional-items',
  /** Set by a restore plugin whose additional items must be restored whatever the filters say. */
  restoreMustIncludeAdditionalItems: 'restore.velero.io/must-include-additional-items',
  /** Set during a backup on a claim without a CSI volume. */
  skippedNoCsiPv: 'backup.velero.io/skipped-no-csi-pv',
  /** The VolumeSnapshot a claim is restored from. */
  volumeSnapshotName: 'velero.io/volume-snapshot-name',
  /** The handle of the snapshot in the storage system. On VolumeSnapshots. */
  volumeSnapshotHandle: 'velero.io/csi-volumesnapshot-handle',
  /** The size a volume restored from the snapshot must have. On VolumeSnapshots and claims. */
  volumeSnapshotRestoreSize: 'velero.io/csi-volumesnapshot-restore-size',
  /** The CSI driver of the snapshot. On VolumeSnapshots. */
  csiDriverName: 'velero.io/csi-driver-name',
  /** The deletion policy the content had. On VolumeSnapshots. */
  vscDeletionPolicy: 'velero.io/csi-vsc-deletion-policy',
  /** The handle of the group snapshot in the storage system. On VolumeSnapshots. */
  volumeGroupSnapshotHandle: 'velero.io/csi-volumegroupsnapshot-handle',
  /** The VolumeSnapshotClass to use for this claim. */
  volumeSnapshotClass: 'velero.io/csi-volumesnapshot-class',
  /** The VolumeGroupSnapshotClass to use for this claim. */
  volumeGroupSnapshotClass: 'velero.io/csi-volume-group-snapshot-class',
  /** Kubernetes' own mark of the class to use when none is named. */
  defaultVolumeSnapshotClass: 'snapshot.storage.kubernetes.io/is-default-class',
  /** The secret for taking snapshots. On VolumeSnapshotContents and classes. */
  snapshotterSecretName: 'csi.storage.k8s.io/snapshotter-secret-name',
  /** The namespace of the secret for taking snapshots. */
  snapshotterSecretNamespace: 'csi.storage.k8s.io/snapshotter-secret-namespace',
  /** The secret for listing snapshots. On VolumeSnapshotClasses. */
  snapshotterListSecretName: 'csi.storage.k8s.io/snapshotter-list-secret-name',
  /** The namespace of the secret for listing snapshots. */
  snapshotterListSecretNamespace: 'csi.storage.k8s.io/snapshotter-list-secret-namespace',
  /** The DataUpload that moves the data of a claim. */
  dataUploadName: 'velero.io/data-upload-name',
  /** The claim of the volume. On PVBs. */
  pvcName: 'velero.io/pvc-name',
  /** The name a volume had before it was restored under another. */
  originalPvName: 'velero.io/original-pv-name',
  /** Whether the status of this object is restored: `true` or `false`. */
  restoreStatus: 'velero.io/restore-status',
} as const

/** The snapshot class to use for a CSI driver, as a Backup may say. */
export function snapshotClassAnnotation(driver: string): string {
  return `velero.io/csi-volumesnapshot-class_${driver}`
}

/** The group snapshot class to use for a CSI driver, as a Backup may say. */
export function groupSnapshotClassAnnotation(driver: string): string {
  return `velero.io/csi-volumegroupsnapshot-class_${driver}`
}

/** Where releases before 1.0 kept the snapshot of a volume. On Pods. */
export function legacySnapshotAnnotation(volume: string): string {
  return `snapshot.velero.io/${volume}`
}

/** Annotations of Pods that ask for backup hooks; each has a `pre.` and a `post.` form. */
export const backupHookAnnotationNames = {
  container: 'hook.backup.velero.io/container',
  command: 'hook.backup.velero.io/command',
  onError: 'hook.backup.velero.io/on-error',
  timeout: 'hook.backup.velero.io/timeout',
} as const

/** Annotations of Pods that ask for a command after they are restored. */
export const restoreExecHookAnnotationNames = {
  container: 'post.hook.restore.velero.io/container',
  command: 'post.hook.restore.velero.io/command',
  onError: 'post.hook.restore.velero.io/on-error',
  execTimeout: 'post.hook.restore.velero.io/exec-timeout',
  waitTimeout: 'post.hook.restore.velero.io/wait-timeout',
  waitForReady: 'post.hook.restore.velero.io/wait-for-ready',
} as const

/** Annotations of Pods that ask for an init container when they are restored. */
export const restoreInitHookAnnotationNames = {
  containerImage: 'init.hook.restore.velero.io/container-image',
  containerName: 'init.hook.restore.velero.io/container-name',
  command: 'init.hook.restore.velero.io/command',
  timeout: 'init.hook.restore.velero.io/timeout',
} as const

/** The annotation that node agents and maintenance Jobs pass on to their pods. */
export const inheritedAnnotations = ['iam.amazonaws.com/role'] as const

import type { CsiAccess } from './csi-access.ts'

/** The driver as the cluster knows it, and the classes by which it is used. That of snapshots is the default, so that tests may have others beside it. */
export function csiClasses(access: CsiAccess): object[] {
  const storageClass = (name: string, volumeBindingMode: string) => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner: access.driver,
    volumeBindingMode,
    reclaimPolicy: 'Delete',
  })
  return [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: access.driver },
      spec: { attachRequired: false, podInfoOnMount: false, fsGroupPolicy: 'File' },
    },
    storageClass(access.storageClass, 'Immediate'),
    storageClass(access.waitingStorageClass, 'WaitForFirstConsumer'),
    {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: {
        name: access.snapshotClass,
        annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true' },
      },
      driver: access.driver,
      deletionPolicy: 'Delete',
    },
    {
      apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2',
      kind: 'VolumeGroupSnapshotClass',
      metadata: { name: access.groupSnapshotClass },
      driver: access.driver,
      deletionPolicy: 'Delete',
    },
  ]
}

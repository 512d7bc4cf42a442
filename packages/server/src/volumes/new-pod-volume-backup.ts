import {
  annotationNames,
  apiVersionOf,
  type Backup,
  generateNameFor,
  labelNames,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  validLabelValue,
} from '@lateen/api'
import type { KubeObject } from '@lateen/kube'

/** A volume of a running pod that is to be backed up from its file system. */
export interface PodVolumeToBackUp {
  readonly backup: Backup
  readonly pod: KubeObject
  readonly node: string
  readonly volume: string
  /** Behind the volume, if there is one. */
  readonly claim: { readonly name: string; readonly uid: string } | undefined
}

/** The object that has a node agent back a volume up. */
export function newPodVolumeBackup({ backup, pod, node, volume, claim }: PodVolumeToBackUp): PodVolumeBackup {
  const { name = '', namespace = '', uid = '' } = backup.metadata
  const of = {
    name: pod.metadata.name ?? '',
    namespace: pod.metadata.namespace ?? '',
    uid: pod.metadata.uid ?? '',
  }
  const parallel = backup.spec.uploaderConfig?.parallelFilesUpload
  return {
    apiVersion: apiVersionOf(PodVolumeBackupKind),
    kind: PodVolumeBackupKind.kind,
    metadata: {
      generateName: generateNameFor(name),
      namespace,
      ownerReferences: [{ apiVersion: backup.apiVersion, kind: backup.kind, name, uid, controller: true }],
      labels: {
        [labelNames.backupName]: validLabelValue(name),
        [labelNames.backupUid]: uid,
        ...(claim && { [labelNames.pvcUid]: claim.uid }),
      },
      ...(claim && { annotations: { [annotationNames.pvcName]: claim.name } }),
    },
    spec: {
      node,
      pod: { kind: 'Pod', namespace: of.namespace, name: of.name, uid: of.uid },
      volume,
      backupStorageLocation: backup.spec.storageLocation ?? '',
      repoIdentifier: '',
      uploaderType: 'kopia',
      tags: {
        backup: name,
        'backup-uid': uid,
        pod: of.name,
        'pod-uid': of.uid,
        ns: of.namespace,
        volume,
        ...(claim && { 'pvc-uid': claim.uid }),
      },
      ...(parallel && { uploaderSettings: { ParallelFilesUpload: String(parallel) } }),
    },
  }
}

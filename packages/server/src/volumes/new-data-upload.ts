import {
  apiVersionOf,
  type DataUpload,
  DataUploadKind,
  finalizerNames,
  generateNameFor,
  goDurationOf,
  labelNames,
  validLabelValue,
} from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import type { SnapshotToUpload } from '../csi/data-moves.ts'
import { handleTimeoutOf } from '../csi/snapshot-operations.ts'

interface Claim extends ActionItem {
  spec?: { storageClassName?: string | null }
}

/** By which the upload of a claim's data is known, to the backup and in its label. */
export function dataUploadOperation(backupUid: string, claimUid: string): string {
  return validLabelValue(`du-${backupUid}.${claimUid}`)
}

/** Whether the mover that comes with the node agents does it; other movers have names of their own. */
export function isBuiltInMover(datamover: string | undefined): boolean {
  return !datamover || datamover === 'velero'
}

/** The object that has a node agent move the content of a snapshot into the repository. It is held from the beginning: the snapshot goes with it. */
export function newDataUpload(request: SnapshotToUpload): DataUpload {
  const { backup, snapshot, snapshotClass, driver } = request
  const claim: Claim = request.claim
  const { name = '', namespace = '', uid = '' } = backup.metadata
  const claimUid = claim.metadata.uid ?? ''
  const parallel = backup.spec.uploaderConfig?.parallelFilesUpload
  const { datamover } = backup.spec
  return {
    apiVersion: apiVersionOf(DataUploadKind),
    kind: DataUploadKind.kind,
    metadata: {
      generateName: generateNameFor(name),
      namespace,
      ownerReferences: [{ apiVersion: backup.apiVersion, kind: backup.kind, name, uid, controller: true }],
      labels: {
        [labelNames.backupName]: validLabelValue(name),
        [labelNames.backupUid]: uid,
        [labelNames.pvcUid]: claimUid,
        [labelNames.asyncOperationId]: dataUploadOperation(uid, claimUid),
      },
      ...(isBuiltInMover(datamover) && { finalizers: [finalizerNames.dataMove] }),
    },
    spec: {
      snapshotType: 'CSI',
      csiSnapshot: {
        volumeSnapshot: snapshot.metadata.name ?? '',
        storageClass: claim.spec?.storageClassName ?? '',
        snapshotClass,
        driver,
      },
      sourcePVC: claim.metadata.name ?? '',
      sourceNamespace: claim.metadata.namespace ?? '',
      ...(datamover && { datamover }),
      backupStorageLocation: backup.spec.storageLocation ?? '',
      operationTimeout: goDurationOf(handleTimeoutOf(backup)),
      ...(parallel && { dataMoverConfig: { ParallelFilesUpload: String(parallel) } }),
    },
  }
}

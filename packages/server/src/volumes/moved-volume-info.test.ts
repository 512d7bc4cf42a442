import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DataUpload } from '@lateen/api'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { settleMovedInfos } from './moved-volume-info.ts'
import type { VolumeInfo } from './volume-info.ts'

const info: VolumeInfo = {
  ...{ pvcName: 'data', pvcNamespace: 'shop', pvName: 'pv', backupMethod: 'CSISnapshot' },
  ...{ snapshotDataMoved: true, preserveLocalSnapshot: false, skipped: false },
  snapshotDataMovementInfo: {
    ...{ dataMover: 'velero', uploaderType: 'kopia', snapshotHandle: '', operationID: 'du-1', size: 0 },
    Phase: '',
  },
}

const upload: DataUpload = {
  apiVersion: 'velero.io/v2alpha1',
  kind: 'DataUpload',
  metadata: { name: 'x', labels: { 'velero.io/async-operation-id': 'du-1' } },
  spec: {
    ...{ snapshotType: 'CSI', sourcePVC: 'data', sourceNamespace: 'shop' },
    ...{ backupStorageLocation: 'default', operationTimeout: '10m0s' },
    csiSnapshot: { volumeSnapshot: 'snap', storageClass: 'fast' },
  },
  status: {
    ...{ phase: 'Completed', snapshotID: 'kopia-id', incrementalBytes: 3 },
    ...{ startTimestamp: '2026-05-04T10:00:00Z', completionTimestamp: '2026-05-04T10:01:00Z' },
    progress: { bytesDone: 7, totalBytes: 7 },
  },
}

function operation(phase: 'Completed' | 'Failed'): BackupOperation {
  const { spec, status } = operationLike
  return { spec, status: { ...status, phase } }
}

const operationLike: BackupOperation = {
  spec: {
    ...{ backupName: 'daily', backupUID: 'uid', backupItemAction: 'velero.io/csi-pvc-backupper' },
    resourceIdentifier: { Group: '', Resource: 'persistentvolumeclaims', Namespace: 'shop', Name: 'data' },
    operationID: 'du-1',
    postOperationItems: null,
  },
  status: { phase: 'Completed' },
}

describe('settleMovedInfos', () => {
  it('tells where the data is and what came of it', () => {
    assert.deepEqual(settleMovedInfos([info], [operation('Completed')], [upload]), [
      {
        ...info,
        ...{ startTimestamp: '2026-05-04T10:00:00Z', completionTimestamp: '2026-05-04T10:01:00Z' },
        result: 'succeeded',
        snapshotDataMovementInfo: {
          ...{ dataMover: 'velero', uploaderType: 'kopia', retainedSnapshot: 'snap' },
          ...{ snapshotHandle: 'kopia-id', operationID: 'du-1', size: 7, incrementalSize: 3 },
          Phase: 'Completed',
        },
      },
    ])
  })

  it('tells of a failure, also where the operation alone failed or the object is gone', () => {
    const failed: DataUpload = { ...upload, status: { phase: 'Failed' } }
    const results = [
      settleMovedInfos([info], [operation('Failed')], [failed]),
      settleMovedInfos([info], [operation('Failed')], [upload]),
      settleMovedInfos([info], [operation('Failed')], []),
    ].map(([settled]) => settled?.result)
    assert.deepEqual(results, ['failed', 'failed', 'failed'])
  })

  it('leaves other volumes as they are', () => {
    const other: VolumeInfo = { ...info, snapshotDataMoved: false }
    delete other.snapshotDataMovementInfo
    assert.deepEqual(settleMovedInfos([other], [operation('Completed')], [upload]), [other])
  })
})

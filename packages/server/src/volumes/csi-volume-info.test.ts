import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { VolumeSnapshot, VolumeSnapshotContent } from '../csi/snapshot-kinds.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import type { OperationStatus } from '../operations/operation-status.ts'
import { begunCsiInfo, settleCsiInfos } from './csi-volume-info.ts'

const operationId = 'shop/velero-data-1/2026-11-16T06:00:00Z'
const stored = {
  name: 'pv-1',
  claim: { namespace: 'shop', name: 'data' },
  reclaimPolicy: 'Delete',
  labels: null,
  csiDriver: 'disk.example',
}
const place = { namespace: 'shop', name: 'velero-data-1' }

function operation(phase: OperationStatus['phase']): BackupOperation {
  const Group = 'snapshot.storage.k8s.io'
  return {
    spec: {
      ...{ backupName: 'nightly', backupUID: 'u-1', backupItemAction: 'velero.io/csi-pvc-backupper' },
      resourceIdentifier: { Group: '', Resource: 'persistentvolumeclaims', Namespace: 'shop', Name: 'data' },
      operationID: operationId,
      postOperationItems: [{ Group, Resource: 'volumesnapshots', Namespace: 'shop', Name: 'velero-data-1' }],
    },
    status: { phase, updated: '2026-11-16T06:00:09Z' },
  }
}

const snapshot: VolumeSnapshot = {
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshot',
  metadata: place,
  spec: { source: { persistentVolumeClaimName: 'data' } },
  status: {
    boundVolumeSnapshotContentName: 'snapcontent-1',
    readyToUse: true,
    restoreSize: '16Mi',
    creationTime: '2026-11-16T06:00:02Z',
  },
}

const content: VolumeSnapshotContent = {
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshotContent',
  metadata: { name: 'snapcontent-1' },
  spec: { deletionPolicy: 'Delete', driver: 'disk.example', source: {}, volumeSnapshotRef: {} },
  status: { snapshotHandle: 'h-1', restoreSize: 16_777_216, readyToUse: true },
}

const taken = { ...place, operationId, moved: false, dataMover: '' }
const whole = {
  pvcName: 'data',
  pvcNamespace: 'shop',
  pvName: 'pv-1',
  backupMethod: 'CSISnapshot',
  snapshotDataMoved: false,
  preserveLocalSnapshot: true,
  skipped: false,
  pvInfo: { reclaimPolicy: 'Delete', labels: null },
  startTimestamp: '2026-11-16T06:00:02Z',
  completionTimestamp: '2026-11-16T06:00:09Z',
  result: 'succeeded',
  csiSnapshotInfo: {
    snapshotHandle: 'h-1',
    size: 16_777_216,
    driver: 'disk.example',
    vscName: 'snapcontent-1',
    operationID: operationId,
    ReadyToUse: true,
  },
}

describe('the volume info of a CSI snapshot', () => {
  it('says of one that is being taken whose it is, and all of it when it is ready', () => {
    const begun = begunCsiInfo(taken, stored)
    assert.deepEqual(begun.csiSnapshotInfo, {
      ...{ snapshotHandle: '', size: 0, driver: 'disk.example', vscName: '', operationID: operationId },
      ReadyToUse: null,
    })
    assert.equal(begun.result, undefined)
    assert.deepEqual(settleCsiInfos([begun], [operation('Completed')], [{ snapshot, content }]), [whole])
  })

  it('says the same again when the snapshot is not in the cluster any more', () => {
    const begun = begunCsiInfo(taken, stored)
    const once = settleCsiInfos([begun], [operation('Completed')], [{ snapshot, content }])
    assert.deepEqual(settleCsiInfos(once, [operation('Completed')], []), once)
  })

  it('says that one has failed, and leaves entries of others alone', () => {
    const other = { ...whole, csiSnapshotInfo: { ...whole.csiSnapshotInfo, operationID: 'another' } } as const
    const begun = begunCsiInfo(taken, stored)
    const [failed, same] = settleCsiInfos([begun, other as never], [operation('Failed')], [])
    assert.equal(failed?.result, 'failed')
    assert.equal(same, other)
  })

  it('says of one that is moved what Velero says before it has moved', () => {
    const moved = begunCsiInfo({ ...taken, operationId: 'du-1.2', moved: true }, stored)
    assert.equal(moved.snapshotDataMoved, true)
    assert.equal(moved.preserveLocalSnapshot, false)
    assert.deepEqual(moved.csiSnapshotInfo, {
      ...{ snapshotHandle: 'unknown', size: 0, driver: 'disk.example', vscName: 'unknown' },
      ...{ operationID: 'unknown', ReadyToUse: null },
    })
    assert.deepEqual(moved.snapshotDataMovementInfo, {
      ...{ dataMover: 'velero', uploaderType: 'kopia', snapshotHandle: '' },
      ...{ operationID: 'du-1.2', size: 0, Phase: '' },
    })
    assert.deepEqual(settleCsiInfos([moved], [operation('Completed')], [{ snapshot, content }]), [moved])
  })
})

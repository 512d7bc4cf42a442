import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DataUpload, DataUploadKind, finalizerNames } from '@lateen/api'
import { dataUploadProgress } from './data-uploads.ts'
import { dataUploadOperation, newDataUpload } from './new-data-upload.ts'

const over = Date.parse('2026-05-04T10:00:00Z')
const minute = 60_000

const backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'daily', namespace: 'velero', uid: '11111111-1111-1111-1111-111111111111' },
  spec: { storageLocation: 'default', csiSnapshotTimeout: '5m', uploaderConfig: { parallelFilesUpload: 3 } },
} as const

const claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data', namespace: 'shop', uid: '22222222-2222-2222-2222-222222222222' },
  spec: { storageClassName: 'fast' },
}

const snapshot = {
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshot',
  metadata: { name: 'snap', namespace: 'shop' },
  spec: { source: { persistentVolumeClaimName: 'data' } },
}

const request = { backup, claim, snapshot, snapshotClass: 'snaps', driver: 'csi.example' }

function upload(status: NonNullable<DataUpload['status']>, held = false): DataUpload {
  const object = newDataUpload(request)
  const finalizers = held ? [finalizerNames.dataMove] : []
  return { ...object, metadata: { ...object.metadata, finalizers }, status }
}

const completionTimestamp = new Date(over).toISOString()

describe('newDataUpload', () => {
  it('says what Velero says, by the same labels', () => {
    const { metadata, spec } = newDataUpload(request)
    assert.equal(metadata.generateName, 'daily-')
    assert.deepEqual(metadata.labels, {
      'velero.io/backup-name': 'daily',
      'velero.io/backup-uid': backup.metadata.uid,
      'velero.io/pvc-uid': claim.metadata.uid,
      'velero.io/async-operation-id': dataUploadOperation(backup.metadata.uid, claim.metadata.uid),
    })
    assert.deepEqual(spec, {
      snapshotType: 'CSI',
      csiSnapshot: {
        ...{ volumeSnapshot: 'snap', storageClass: 'fast', snapshotClass: 'snaps', driver: 'csi.example' },
      },
      ...{ sourcePVC: 'data', sourceNamespace: 'shop', backupStorageLocation: 'default' },
      operationTimeout: '5m0s',
      dataMoverConfig: { ParallelFilesUpload: '3' },
    })
  })

  it('has an operation that fits into a label', () => {
    const operation = dataUploadOperation(backup.metadata.uid, claim.metadata.uid)
    assert.match(operation, /^du-11111111-[-.0-9a-f]+$/)
    assert.equal(operation.length, 63)
  })

  it('is held for the mover of node agents, and for no other', () => {
    assert.deepEqual(newDataUpload(request).metadata.finalizers, [finalizerNames.dataMove])
    const others = { ...backup, spec: { ...backup.spec, datamover: 'other' } }
    const object = newDataUpload({ ...request, backup: others })
    assert.equal(object.metadata.finalizers, undefined)
    assert.equal(object.spec.datamover, 'other')
  })
})

describe('dataUploadProgress', () => {
  it('is complete in the last phases alone', () => {
    for (const phase of DataUploadKind.phases?.phases ?? []) {
      const isLast = DataUploadKind.phases?.terminal.includes(phase)
      assert.equal(dataUploadProgress(upload({ phase, completionTimestamp }), over).completed, isLast, phase)
    }
  })

  it('says why it failed', () => {
    const error = (status: NonNullable<DataUpload['status']>) =>
      dataUploadProgress(upload(status), over).error
    assert.equal(error({ phase: 'Completed', message: 'nothing to tell' }), '')
    assert.equal(error({ phase: 'Failed', message: 'the disk is gone' }), 'the disk is gone')
    assert.match(error({ phase: 'Failed' }), /no reason/)
    assert.equal(error({ phase: 'Canceled' }), 'DataUpload is canceled')
  })

  it('waits until what was made is gone, and not for ever', () => {
    const held = upload({ phase: 'Failed', message: 'no', completionTimestamp }, true)
    const { completed, error } = dataUploadProgress(held, over + minute)
    assert.deepEqual([completed, error], [false, ''])
    assert.deepEqual(dataUploadProgress(held, over + 6 * minute).completed, true)
    const free = upload({ phase: 'Failed', message: 'no', completionTimestamp })
    assert.equal(dataUploadProgress(free, over).completed, true)
  })

  it('tells how far it is in bytes', () => {
    const { nCompleted, nTotal, operationUnits, description } = dataUploadProgress(
      upload({ phase: 'InProgress', progress: { bytesDone: 3, totalBytes: 7 } }),
      over,
    )
    assert.deepEqual([nCompleted, nTotal, operationUnits, description], [3, 7, 'Bytes', 'InProgress'])
  })
})

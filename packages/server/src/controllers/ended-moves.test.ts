import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DataUpload, DataUploadStatus } from '@lateen/api'
import { areAllOver } from './ended-moves.ts'

const owner = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'nightly', uid: 'u1' } }

function move(
  phase: NonNullable<DataUploadStatus['phase']>,
  { uid = 'u1', finalizers = [] as string[] } = {},
): DataUpload {
  return {
    apiVersion: 'velero.io/v2alpha1',
    kind: 'DataUpload',
    metadata: {
      name: `nightly-${phase}`,
      finalizers,
      ownerReferences: [{ apiVersion: 'velero.io/v1', kind: 'Backup', name: 'nightly', uid }],
    },
    spec: {
      snapshotType: 'CSI',
      sourcePVC: 'data',
      sourceNamespace: 'shop',
      backupStorageLocation: 'default',
      operationTimeout: '10m0s',
    },
    status: { phase },
  }
}

describe('the moves of a backup', () => {
  it('are over when each has ended, well or not', () => {
    assert.ok(areAllOver([move('Completed'), move('Failed'), move('Canceled')], owner))
    assert.ok(!areAllOver([move('Completed'), move('InProgress')], owner))
  })

  it('are not over while something that was made for one is left', () => {
    const held = move('Completed', { finalizers: ['velero.io/data-upload-download-finalizer'] })
    assert.ok(!areAllOver([held], owner))
  })

  it('are its own only, and never over when there are none', () => {
    assert.ok(!areAllOver([], owner))
    assert.ok(!areAllOver([move('Completed', { uid: 'of-an-earlier-one' })], owner))
    assert.ok(areAllOver([move('Completed'), move('InProgress', { uid: 'of-another' })], owner))
  })
})

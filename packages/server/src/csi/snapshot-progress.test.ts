import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { VolumeSnapshot, VolumeSnapshotContent } from './snapshot-kinds.ts'
import { parseSnapshotOperation, snapshotOperationId } from './snapshot-operations.ts'
import { snapshotProgress } from './snapshot-progress.ts'

const began = Date.parse('2026-11-16T06:00:00Z')
const soon = { began, now: began + 1_000, handleTimeoutMs: 600_000 }
const late = { ...soon, now: began + 600_000 }

function snapshot(status: VolumeSnapshot['status'], more: object = {}): VolumeSnapshot {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: {
      name: 'velero-data-1',
      namespace: 'shop',
      creationTimestamp: '2026-11-16T06:00:00Z',
      ...more,
    },
    spec: { source: { persistentVolumeClaimName: 'data' } },
    ...(status && { status }),
  }
}

function content(status: VolumeSnapshotContent['status'], more: object = {}): VolumeSnapshotContent {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: 'snapcontent-1', ...more },
    spec: { deletionPolicy: 'Delete', driver: 'd', source: {}, volumeSnapshotRef: {} },
    ...(status && { status }),
  }
}

const bound = { boundVolumeSnapshotContentName: 'snapcontent-1' }
const ready = { readyToUse: true }
const withHandle = { snapshotHandle: 'h-1' }

describe('the progress of a snapshot', () => {
  it('is complete when snapshot and content are ready to use', () => {
    const seen = { snapshot: snapshot({ ...bound, ...ready }), content: content({ ...withHandle, ...ready }) }
    const { completed, error, started, updated } = snapshotProgress(seen, late)
    assert.deepEqual(
      { completed, error, started, updated },
      { completed: true, error: '', started: began, updated: late.now },
    )
    const half = { ...seen, content: content(withHandle) }
    assert.equal(snapshotProgress(half, soon).completed, false)
  })

  it('goes on as long as there is time for a handle, and with one for as long as the operation may take', () => {
    assert.equal(
      snapshotProgress({ snapshot: snapshot(undefined), content: undefined }, soon).completed,
      false,
    )
    const cut = { snapshot: snapshot(bound), content: content(withHandle) }
    assert.equal(snapshotProgress(cut, late).completed, false)
  })

  it('tells what the driver says, which counts when the time is over', () => {
    const fault = { error: { message: 'out of space' } }
    const seen = { snapshot: snapshot(bound), content: content(fault) }
    const going = snapshotProgress(seen, soon)
    assert.deepEqual([going.completed, going.description], [false, 'out of space'])
    const over = snapshotProgress(seen, late)
    assert.equal(over.completed, true)
    assert.match(over.error, /within 10m0s; it says: out of space$/)
    assert.match(snapshotProgress({ ...seen, content: content(undefined) }, late).error, /within 10m0s$/)
  })

  it('has failed when the snapshot or its content is gone or going', () => {
    const deletionTimestamp = '2026-11-16T06:00:01Z'
    for (const seen of [
      { snapshot: undefined, content: undefined },
      { snapshot: snapshot({ ...bound, ...ready }, { deletionTimestamp }), content: content(ready) },
      { snapshot: snapshot({ ...bound, ...ready }), content: undefined },
      { snapshot: snapshot({ ...bound, ...ready }), content: content(ready, { deletionTimestamp }) },
    ]) {
      const { completed, error } = snapshotProgress(seen, soon)
      assert.equal(completed, true)
      assert.match(error, /was deleted before the snapshot was ready/)
    }
  })
})

describe('the id of a snapshot as an operation', () => {
  it('says where the snapshot is and when it began', () => {
    const id = snapshotOperationId(snapshot(undefined), 0)
    assert.equal(id, 'shop/velero-data-1/2026-11-16T06:00:00Z')
    assert.deepEqual(parseSnapshotOperation(id), { namespace: 'shop', name: 'velero-data-1', began })
  })

  it('is nothing else', () => {
    for (const id of [
      '',
      'du-1.2',
      'a/b',
      'a/b/c',
      'a/b/2026-11-16T06:00:00Z/d',
      '/b/2026-11-16T06:00:00Z',
    ]) {
      assert.equal(parseSnapshotOperation(id), undefined, id)
    }
  })
})

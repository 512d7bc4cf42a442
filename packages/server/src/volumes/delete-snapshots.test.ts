import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { silentLogger } from '@lateen/kube'
import { newOperation } from '../operations/backup-operation.ts'
import { deleteSnapshots } from './delete-snapshots.ts'
import { MemorySnapshotter, snapshottersOf } from './testing/memory-snapshotter.ts'
import type { NativeSnapshot } from './volume-backup.ts'

const { signal } = new AbortController()

function snapshot(id: string, location = 'here'): NativeSnapshot {
  const spec = {
    backupName: 'b',
    backupUID: 'u',
    location,
    persistentVolumeName: `pv-${id}`,
    providerVolumeID: 'vol',
    volumeType: 'ssd',
  }
  return { spec, status: { phase: 'Completed', ...(id !== '' && { providerSnapshotID: id }) } }
}

function operation(operationId: string, phase: 'InProgress' | 'Completed') {
  const begun = newOperation({
    backup: { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} },
    action: 'example.com/memory',
    item: { group: '', resource: 'persistentvolumes', namespace: '', name: '' },
    operationId,
    volumeSnapshotLocation: 'here',
    now: 0,
  })
  return { ...begun, status: { ...begun.status, phase } }
}

const inOrder = (one: string, other: string) => (one < other ? -1 : 1)

describe('deleting the snapshots of a backup', () => {
  it('deletes each that has an id, and stops those under way before', async () => {
    const memory = new MemorySnapshotter({ volumes: [] })
    const errors = await deleteSnapshots({
      snapshots: [snapshot('a'), snapshot(''), snapshot('b')],
      operations: [operation('a', 'InProgress'), operation('b', 'Completed')],
      snapshotters: snapshottersOf({ here: memory }),
      log: silentLogger,
      signal,
    })
    assert.deepEqual(errors, [])
    assert.deepEqual(memory.calls.map(call => call.join(' ')).toSorted(inOrder), [
      'cancel a',
      'deleteSnapshot a',
      'deleteSnapshot b',
    ])
  })

  it('deletes what it can, and tells of everything else', async () => {
    const fine = new MemorySnapshotter({ volumes: [] })
    const broken = new MemorySnapshotter({ volumes: [], failing: ['cancel', 'deleteSnapshot'] })
    const errors = await deleteSnapshots({
      snapshots: [snapshot('x', 'broken'), snapshot('y', 'gone'), snapshot('z', 'fine')],
      operations: [],
      snapshotters: snapshottersOf({ fine, broken }),
      log: silentLogger,
      signal,
    })
    assert.deepEqual(errors.map(({ message }) => message).toSorted(inOrder), [
      'error deleting snapshot x: deleteSnapshot does not work',
      'error deleting snapshot y: no location gone',
    ])
    assert.deepEqual(fine.calls, [['deleteSnapshot', 'z']])
  })

  it('deletes a snapshot that could not be stopped', async () => {
    const memory = new MemorySnapshotter({ volumes: [], failing: ['cancel'] })
    const options = { operations: [operation('a', 'InProgress')], log: silentLogger, signal }
    const snapshotters = snapshottersOf({ here: memory })
    assert.deepEqual(await deleteSnapshots({ ...options, snapshots: [snapshot('a')], snapshotters }), [])
    assert.deepEqual(memory.calls.at(-1), ['deleteSnapshot', 'a'])
  })
})

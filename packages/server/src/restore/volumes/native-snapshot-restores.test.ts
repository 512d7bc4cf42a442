import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { MemorySnapshotter, snapshottersOf } from '../../volumes/testing/memory-snapshotter.ts'
import type { NativeSnapshot } from '../../volumes/volume-backup.ts'
import { createSnapshotRestores } from './native-snapshot-restores.ts'

const { signal } = new AbortController()
const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }
const volume: ActionItem = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'pv-1' },
  spec: { claimRef: { namespace: 'shop', name: 'data' } },
}

function snapshotWith(status: NativeSnapshot['status']): NativeSnapshot {
  const spec = {
    backupName: 'b',
    backupUID: 'u',
    location: 'here',
    persistentVolumeName: 'pv-1',
    providerVolumeID: 'vol-1',
    volumeType: 'ssd',
    volumeAZ: 'z',
    volumeIOPS: 100,
  }
  return { spec, status }
}

const completed = snapshotWith({ phase: 'Completed', providerSnapshotID: 'snap-1' })

function restore(memory: MemorySnapshotter, snapshot = completed) {
  return createSnapshotRestores(snapshottersOf({ here: memory })).restore(
    { volume, snapshot, backup },
    signal,
  )
}

describe('a volume from a native snapshot', () => {
  it('is made with type, zone and iops of the one that was backed up', async () => {
    const memory = new MemorySnapshotter({ volumes: [] })
    const made = await restore(memory)
    assert.deepEqual(memory.calls, [
      ['createVolume', 'snap-1', 'ssd', 'z', 100],
      ['setVolumeId', 'vol-new'],
    ])
    assert.deepEqual(made.volume.spec, { claimRef: { namespace: 'shop', name: 'data' }, volumeId: 'vol-new' })
    assert.deepEqual(made.volumeInfo, {
      pvcName: 'data',
      pvcNamespace: 'shop',
      pvName: 'pv-1',
      restoreMethod: 'NativeSnapshot',
      snapshotDataMoved: false,
      nativeSnapshotInfo: {
        snapshotHandle: 'snap-1',
        volumeType: 'ssd',
        volumeAZ: 'z',
        iops: '100',
        Phase: '',
      },
    })
  })

  it('is not made where the snapshot had failed', async () => {
    const memory = new MemorySnapshotter({ volumes: [] })
    const failed = [
      snapshotWith({ phase: 'Failed' }),
      snapshotWith({ phase: 'Failed', providerSnapshotID: 's' }),
    ]
    for (const snapshot of failed) await assert.rejects(restore(memory, snapshot), /pv-1 had failed/)
    assert.deepEqual(memory.calls, [])
  })

  it('is named where the PersistentVolume cannot be made to stand for it', async () => {
    const memory = new MemorySnapshotter({ volumes: [], failing: ['setVolumeId'] })
    await assert.rejects(restore(memory), /^Error: setVolumeId does not work; the volume vol-new was made/)
  })
})

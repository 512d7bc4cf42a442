import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import type { Logger } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { createNativeSnapshots } from './native-snapshots.ts'
import { MemorySnapshotter, memoryLocation, snapshottersOf } from './testing/memory-snapshotter.ts'

const { signal } = new AbortController()

const backup: Backup = {
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: 'nightly', namespace: 'velero', uid: 'u-1', labels: { team: 'red' } },
  spec: {},
}

const volume: ActionItem = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'pv-1', labels: { 'topology.kubernetes.io/zone': 'z' } },
  spec: { claimRef: { namespace: 'shop', name: 'data' }, persistentVolumeReclaimPolicy: 'Delete' },
}

function remembering() {
  const lines: string[] = []
  const log: Logger = {
    debug: () => {},
    info: () => {},
    warn: (_, message) => lines.push(`warn ${message}`),
    error: (_, message) => lines.push(`error ${message}`),
    child: () => log,
  }
  return { lines, log }
}

async function take(byLocation: Record<string, MemorySnapshotter>, names = Object.keys(byLocation)) {
  const { lines, log } = remembering()
  const locations = names.map(name => memoryLocation(name))
  const snapshots = createNativeSnapshots({ locations, snapshotters: snapshottersOf(byLocation), log })
  return { lines, snapshots, taken: await snapshots.take({ volume, backup }, signal) }
}

describe('a native snapshot', () => {
  it('is taken with the zone of the volume, and the labels and name of the backup as tags', async () => {
    const memory = new MemorySnapshotter({ volumes: ['pv-1'] })
    const { taken, lines } = await take({ here: memory })
    const tags = { team: 'red', 'velero.io/backup': 'nightly', 'velero.io/pv': 'pv-1' }
    assert.deepEqual(memory.calls, [
      ['getVolumeId', 'pv-1'],
      ['getVolumeInfo', 'vol-pv-1', 'z'],
      ['createSnapshot', 'vol-pv-1', 'z', tags],
    ])
    assert.deepEqual(taken, {
      snapshot: {
        spec: {
          backupName: 'nightly',
          backupUID: 'u-1',
          location: 'here',
          persistentVolumeName: 'pv-1',
          providerVolumeID: 'vol-pv-1',
          volumeType: 'memory',
          volumeAZ: 'z',
          volumeIOPS: 7,
        },
        status: { providerSnapshotID: 'snap-vol-pv-1', phase: 'Completed' },
      },
      provider: 'example.com/memory',
      volumeInfo: {
        pvcName: 'data',
        pvcNamespace: 'shop',
        pvName: 'pv-1',
        backupMethod: 'NativeSnapshot',
        snapshotDataMoved: false,
        preserveLocalSnapshot: false,
        skipped: false,
        result: 'succeeded',
        nativeSnapshotInfo: {
          snapshotHandle: 'snap-vol-pv-1',
          volumeType: 'memory',
          volumeAZ: 'z',
          iops: '7',
          Phase: 'Completed',
        },
        pvInfo: { reclaimPolicy: 'Delete', labels: { 'topology.kubernetes.io/zone': 'z' } },
      },
    })
    assert.deepEqual(lines, [])
  })

  it('is taken by the first location that knows the volume; those that do not are warned of, those that cannot say are errors', async () => {
    const byLocation = {
      strange: new MemorySnapshotter({ volumes: [] }),
      broken: new MemorySnapshotter({ volumes: ['pv-1'], failing: ['getVolumeId'] }),
      right: new MemorySnapshotter({ volumes: ['pv-1'] }),
      late: new MemorySnapshotter({ volumes: ['pv-1'] }),
    }
    const { taken, lines } = await take(byLocation, ['strange', 'broken', 'absent', 'right', 'late'])
    assert.equal('snapshot' in taken && taken.snapshot?.spec.location, 'right')
    assert.deepEqual(
      lines.map(line => line.split(' ')[0]),
      ['warn', 'error', 'error'],
    )
    assert.deepEqual(byLocation.late.calls, [])
  })

  it('is not taken where nobody knows the volume', async () => {
    const { taken } = await take({ here: new MemorySnapshotter({ volumes: [] }) })
    assert.deepEqual(taken, { skipped: 'no applicable volumesnapshotter found' })
    assert.deepEqual((await take({})).taken, { skipped: 'no applicable volumesnapshotter found' })
  })

  it('is not tried where nothing is known about the volume', async () => {
    const memory = new MemorySnapshotter({ volumes: ['pv-1'], failing: ['getVolumeInfo'] })
    const { taken } = await take({ here: memory })
    assert.ok('error' in taken && taken.snapshot === undefined)
    assert.equal(taken.error.message, 'error getting volume info: getVolumeInfo does not work')
  })

  it('is recorded as failed where it could not be taken', async () => {
    const memory = new MemorySnapshotter({ volumes: ['pv-1'], failing: ['createSnapshot'] })
    const { taken } = await take({ here: memory })
    assert.ok('snapshot' in taken && taken.snapshot !== undefined)
    assert.deepEqual(taken.snapshot.status, { phase: 'Failed' })
    assert.equal(taken.volumeInfo.result, 'failed')
    assert.equal(taken.error?.message, 'error taking snapshot of volume: createSnapshot does not work')
  })

  it('is stopped as far as its plugin can', async () => {
    for (const failing of [[], ['cancel']]) {
      const memory = new MemorySnapshotter({ volumes: ['pv-1'], failing })
      const { taken, snapshots, lines } = await take({ here: memory })
      assert.ok('snapshot' in taken && taken.snapshot !== undefined)
      await snapshots.cancel(taken.snapshot, signal)
      assert.deepEqual(memory.calls.at(-1), ['cancel', 'snap-vol-pv-1'])
      assert.equal(lines.length, failing.length)
    }
  })
})

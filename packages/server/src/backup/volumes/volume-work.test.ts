import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { silentLogger } from '@lateen/kube'
import type { BackupItemAction } from '@lateen/plugin'
import type { BackupOperation } from '../../operations/backup-operation.ts'
import { type BegunOperations, JournalError, operationsInMemory } from '../../operations/operation-journal.ts'
import { createNativeSnapshots } from '../../volumes/native-snapshots.ts'
import {
  MemorySnapshotter,
  memoryLocation,
  snapshottersOf,
} from '../../volumes/testing/memory-snapshotter.ts'
import type { PodVolumeBackups, PodVolumesBegun } from '../../volumes/volume-backup.ts'
import { createMemoryRun } from '../blocks/testing/memory-run.ts'
import { backUpItem } from '../items/back-up-item.ts'

const signal = new AbortController().signal

/** Backs up nothing and remembers what it was asked for. */
function remembering(answer: Partial<PodVolumesBegun> = {}) {
  const begun: string[] = []
  const podVolumes: PodVolumeBackups = {
    async begin({ pod, volumes }) {
      for (const volume of volumes) begun.push(`${pod.metadata.name}/${volume}`)
      return { begun: volumes, skipped: [], errors: [], ...answer }
    },
    ended: async () => undefined,
    finish: async () => ({ podVolumeBackups: [], volumeInfo: [] }),
  }
  const volumes = { podVolumes, snapshots: { unavailable: 'no snapshots here' } }
  return { begun, volumes }
}

const pod = (name: string) => ({
  path: `pods/shop/${name}`,
  body: {
    spec: {
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
        { name: 'cache', emptyDir: {} },
        { name: 'token', projected: {} },
      ],
    },
  },
})
const volume = {
  path: 'persistentvolumes//pv-1',
  body: { spec: { claimRef: { namespace: 'shop', name: 'data' }, persistentVolumeReclaimPolicy: 'Delete' } },
}

async function store(
  objects: Parameters<typeof createMemoryRun>[0]['objects'],
  answer?: Partial<PodVolumesBegun>,
) {
  const { begun, volumes } = remembering(answer)
  const memory = await createMemoryRun({ objects, volumes })
  const errors: unknown[] = []
  for (const item of memory.collected) {
    const loaded = await memory.run.source.load(item)
    await backUpItem(loaded, { run: memory.run, block: new Map(), signal }).catch(error => errors.push(error))
  }
  const results = await memory.run.volumes.finish(signal)
  return { ...memory, begun, errors, results }
}

describe('the volumes of pods', () => {
  it('are backed up once for each claim, through the first pod that mounts it', async () => {
    const { begun, results } = await store([pod('one'), pod('two'), volume])
    assert.deepEqual(begun, ['one/data', 'one/cache', 'two/cache'])
    assert.deepEqual(results.skipped, [], 'the data are in the backup, so nothing is skipped')
  })

  it('that cannot be taken are recorded with the reason', async () => {
    const { results } = await store([pod('one'), volume], {
      begun: [],
      skipped: [{ volume: 'data', reason: 'no container mounts it' }],
    })
    assert.deepEqual(results.volumeInfo, [
      {
        pvcName: 'data',
        pvcNamespace: 'shop',
        pvName: 'pv-1',
        snapshotDataMoved: false,
        preserveLocalSnapshot: false,
        skipped: true,
        skippedReason: 'podvolume: no container mounts it;volumeSnapshot: no snapshots here;',
        pvInfo: { reclaimPolicy: 'Delete', labels: null },
      },
    ])
  })

  it('are left to another pod when an action leaves the first one out', async () => {
    const { begun, volumes } = remembering()
    const action: BackupItemAction = {
      appliesTo: async () => ({ includedResources: ['pods'] }),
      execute: async ({ item }) => ({ item: item.metadata.name === 'one' ? undefined : item }),
    }
    const { run, collected } = await createMemoryRun({
      objects: [pod('one'), pod('two')],
      itemActions: [{ name: 'test/leave-out', action }],
      volumes,
    })
    for (const item of collected) {
      await backUpItem(await run.source.load(item), { run, block: new Map(), signal })
    }
    assert.deepEqual(begun, ['two/data', 'two/cache'])
  })

  it('that fail keep the pod out of the archive', async () => {
    const { errors, archived } = await store([pod('one')], { errors: [new Error('no node agent on node-1')] })
    assert.match(String(errors[0]), /pods shop\/one.*no node agent on node-1/)
    assert.deepEqual(archived, [])
  })
})

describe('the snapshots of volumes', () => {
  async function snapshot(memory: MemorySnapshotter, operations: BegunOperations<BackupOperation>) {
    const snapshots = createNativeSnapshots({
      locations: [memoryLocation('here')],
      snapshotters: snapshottersOf({ here: memory }),
      log: silentLogger,
    })
    const { podVolumes } = remembering().volumes
    const run = await createMemoryRun({ objects: [volume], volumes: { podVolumes, snapshots }, operations })
    const errors: unknown[] = []
    for (const item of run.collected) {
      const loaded = await run.run.source.load(item)
      await backUpItem(loaded, { run: run.run, block: new Map(), signal }).catch(error => errors.push(error))
    }
    return { ...run, errors, results: await run.run.volumes.finish(signal) }
  }

  it('are operations of the backup, by the ids that they have at their location', async () => {
    const operations = operationsInMemory<BackupOperation>()
    const { archived, results } = await snapshot(new MemorySnapshotter({ volumes: ['pv-1'] }), operations)
    assert.equal(archived.length, 2)
    assert.equal(results.volumeSnapshots[0]?.status.phase, 'Completed')
    assert.deepEqual(
      operations.all.map(({ spec: { operationID, backupItemAction, volumeSnapshotLocation, ...rest } }) => [
        ...[operationID, backupItemAction, volumeSnapshotLocation],
        ...[rest.resourceIdentifier.Resource, rest.resourceIdentifier.Name],
      ]),
      [['snap-vol-pv-1', 'example.com/memory', 'here', 'persistentvolumes', 'pv-1']],
    )
  })

  it('that cannot be taken are none, and keep the volume out of the archive', async () => {
    for (const [call, listed] of [
      ['createSnapshot', 1],
      ['getVolumeInfo', 0],
    ] as const) {
      const operations = operationsInMemory<BackupOperation>()
      const memory = new MemorySnapshotter({ volumes: ['pv-1'], failing: [call] })
      const { archived, errors, results } = await snapshot(memory, operations)
      assert.match(String(errors), new RegExp(`persistentvolumes pv-1: .*${call} does not work`))
      assert.deepEqual([archived, operations.all], [[], []])
      assert.deepEqual([results.volumeSnapshots.length, results.skipped.length], [listed, 0])
    }
  })

  it('that cannot be noted in the bucket are stopped, and listed as failed with their ids', async () => {
    const memory = new MemorySnapshotter({ volumes: ['pv-1'] })
    const add = ({ spec }: BackupOperation) =>
      Promise.reject(new JournalError(spec.operationID, new Error('the bucket is full')))
    const { archived, errors, results } = await snapshot(memory, { all: [], add })
    assert.match(String(errors), /persistentvolumes pv-1: .*the bucket is full/)
    assert.deepEqual(archived, [])
    assert.deepEqual(memory.calls.at(-1), ['cancel', 'snap-vol-pv-1'])
    assert.deepEqual(results.volumeSnapshots[0]?.status, {
      providerSnapshotID: 'snap-vol-pv-1',
      phase: 'Failed',
    })
    assert.equal(results.volumeInfo[0]?.result, 'failed')
  })
})

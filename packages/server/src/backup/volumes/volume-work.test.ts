import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupItemAction } from '@lateen/plugin'
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

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupItemAction, Registered } from '@lateen/plugin'
import { HookCounter } from '../../hooks/hook-counter.ts'
import { csiClaimAction } from '../../volumes/csi-operations.ts'
import type { PodVolumeBackups } from '../../volumes/volume-backup.ts'
import { BlockHooks } from '../hooks/block-hooks.ts'
import { backUpBlock } from './back-up-block.ts'
import type { ItemBlock } from './build-blocks.ts'
import { createMemoryRun, type MemoryRun, pathOf } from './testing/memory-run.ts'

const signal = new AbortController().signal

const pod = {
  path: 'pods/shop/db',
  body: {
    metadata: {
      name: 'db',
      namespace: 'shop',
      annotations: {
        'pre.hook.backup.velero.io/command': 'freeze',
        'post.hook.backup.velero.io/command': 'thaw',
      },
    },
    spec: { volumes: [{ name: 'cache', emptyDir: {} }] },
  },
}

/** Hooks that note what they would do, instead of doing it. */
class NotedHooks extends BlockHooks {
  readonly #events: string[]

  constructor(events: string[], run: MemoryRun['run']) {
    super({
      clock: run.clock,
      log: run.log,
      specHooks: [],
      counter: new HookCounter(),
      get client(): never {
        throw new TypeError('no cluster')
      },
    })
    this.#events = events
  }

  override async run(item: { metadata: { name?: string } }, phase: 'pre' | 'post') {
    this.#events.push(`${phase} ${item.metadata.name}`)
    return { fatal: undefined, acted: true }
  }
}

async function blockOf({ run, collected }: MemoryRun): Promise<ItemBlock> {
  const items = await Promise.all(Array.from(collected, item => run.source.load(item)))
  return { items, byKey: new Map(items.map(item => [pathOf(item), [item]])) }
}

const claim = {
  path: 'persistentvolumeclaims/shop/data',
  body: { spec: { volumeName: 'pv-1' }, status: { phase: 'Bound' } },
}

/** An action that has a snapshot taken, and does not wait for it. */
const snapshotAction: Registered<BackupItemAction> = {
  name: csiClaimAction,
  action: {
    appliesTo: async () => ({ includedResources: ['persistentvolumeclaims'] }),
    async execute({ item }) {
      item.metadata.annotations = { 'velero.io/volume-snapshot-name': 'velero-data-1' }
      return { item, operationId: 'shop/velero-data-1/2026-01-02T03:04:05Z' }
    },
  },
}

describe('a block', () => {
  it('waits until the snapshots of its claims are cut before the post hooks of its pods', async () => {
    const events: string[] = []
    const cut = Promise.withResolvers<void>()
    const memory = await createMemoryRun({
      objects: [pod, claim],
      itemActions: [snapshotAction],
      async snapshotCut({ namespace, name }) {
        events.push(`wait ${namespace}/${name}`)
        await cut.promise
        events.push('cut')
      },
    })
    const hooks = new NotedHooks(events, memory.run)
    const storing = backUpBlock(await blockOf(memory), { run: memory.run, hooks, signal })
    while (events.length < 2) await new Promise(setImmediate)
    await new Promise(setImmediate)
    assert.deepEqual(events, ['pre db', 'wait shop/velero-data-1'])
    cut.resolve()
    await storing
    assert.deepEqual(events, ['pre db', 'wait shop/velero-data-1', 'cut', 'post db'])
  })

  it('runs post hooks when a snapshot is not cut in time, and says so', async () => {
    const events: string[] = []
    const warnings: string[] = []
    const memory = await createMemoryRun({
      objects: [pod, claim],
      itemActions: [snapshotAction],
      snapshotCut: () => Promise.reject(new Error('no handle after 10m0s')),
      onLine: (level, message, fields) =>
        level === 'warn' && warnings.push(`${message}: ${(fields as { error: Error }).error.message}`),
    })
    const hooks = new NotedHooks(events, memory.run)
    await backUpBlock(await blockOf(memory), { run: memory.run, hooks, signal })
    assert.deepEqual(events, ['pre db', 'post db'])
    assert.match(warnings.join(), /post hooks .* run all the same: no handle after 10m0s/)
  })

  it('without hooked pods waits for no snapshot', async () => {
    const waits: string[] = []
    const memory = await createMemoryRun({
      objects: [{ ...pod, body: {} }, claim],
      itemActions: [snapshotAction],
      snapshotCut: async ({ name }) => waits.push(name),
    })
    const hooks = new NotedHooks([], memory.run)
    await backUpBlock(await blockOf(memory), { run: memory.run, hooks, signal })
    assert.deepEqual(waits, [])
    assert.equal(memory.run.operations.all.length, 1, 'although one is taken')
  })

  it('waits for the volumes of a pod before its post hooks, and runs these also when the wait fails', async () => {
    const events: string[] = []
    const errors: string[] = []
    const podVolumes: PodVolumeBackups = {
      async begin({ volumes }) {
        events.push(`begin ${volumes}`)
        return { begun: volumes, skipped: [], errors: [] }
      },
      async ended() {
        events.push('wait')
        throw new Error('timed out')
      },
      finish: async () => ({ podVolumeBackups: [], volumeInfo: [] }),
    }
    const memory = await createMemoryRun({
      objects: [pod],
      volumes: { podVolumes, snapshots: { unavailable: 'none' } },
      onLine: (level, message) => level === 'error' && errors.push(message),
    })
    const hooks = new NotedHooks(events, memory.run)
    await backUpBlock(await blockOf(memory), { run: memory.run, hooks, signal })
    assert.deepEqual(events, ['pre db', 'begin cache', 'wait', 'post db'])
    assert.match(errors.join(), /post hooks run all the same/)
  })

  it('does not hook a pod that another block has begun to store', async () => {
    const events: string[] = []
    const memory = await createMemoryRun({ objects: [pod] })
    const block = await blockOf(memory)
    const hooks = new NotedHooks(events, memory.run)
    await backUpBlock(block, { run: memory.run, hooks, signal })
    await backUpBlock(block, { run: memory.run, hooks, signal })
    assert.deepEqual(events, ['pre db', 'post db'])
    assert.equal(memory.archived.length, 2, 'and stores it once, under two paths')
  })

  it('runs post hooks when the archive fails, which then ends the backup', async () => {
    const events: string[] = []
    const memory = await createMemoryRun({ objects: [pod] })
    const full = new Error('no space left')
    const archive = { ...memory.run.archive, add: () => Promise.reject(full) }
    const run = { ...memory.run, archive }
    await assert.rejects(
      backUpBlock(await blockOf(memory), { run, hooks: new NotedHooks(events, run), signal }),
      full,
    )
    assert.deepEqual(events, ['pre db', 'post db'])
  })
})

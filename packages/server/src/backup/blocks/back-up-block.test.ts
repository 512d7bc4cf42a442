import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HookCounter } from '../../hooks/hook-counter.ts'
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

describe('a block', () => {
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

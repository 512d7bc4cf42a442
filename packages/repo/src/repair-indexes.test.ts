import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type MemoryStorage, memoryStorage } from './blob/memory.ts'
import { type BlobId, blobId } from './blob/storage.ts'
import type { Clock } from './clock/clock.ts'
import { defaultEpochParameters } from './format/format-parameters.ts'
import type { ContentId } from './index-format/content-id.ts'
import { runMaintenance } from './maintenance/run.ts'
import { verifyRepository } from './maintenance/verify.ts'
import { repairIndexes } from './repair-indexes.ts'
import { createRepository, openRepository, type Repository } from './repository.ts'
import { deleteSnapshots } from './snapshot/delete-snapshots.ts'
import {
  emptyStats,
  type SnapshotManifest,
  snapshotLabels,
  snapshotPayload,
} from './snapshot/snapshot-manifest.ts'
import { storeDirectory, storeFile } from './snapshot/testing/store-entries.ts'

const hour = 3_600_000
const password = 'p'

class ManualClock implements Clock {
  time = Date.UTC(2026, 0, 1)
  now(): number {
    return this.time
  }
  async sleep(ms: number): Promise<void> {
    this.time += ms
  }
}

let clock: ManualClock
let storage: MemoryStorage
let repository: Repository

beforeEach(async () => {
  clock = new ManualClock()
  storage = memoryStorage({ clock })
  repository = await createRepository({
    storage,
    password,
    clock,
    keyAlgorithm: 'pbkdf2-sha256-600000',
    format: {
      epochParameters: {
        ...defaultEpochParameters,
        minEpochDuration: hour,
        advanceOnCount: 2,
        fullCheckpointFrequency: 3,
      },
    },
  })
})

/** Stores a snapshot of one file in a session of its own; returns its id and the file's content. */
async function snapshot(data: string): Promise<{ id: string; content: ContentId }> {
  return repository.writing({}, async ({ manifests, objects }) => {
    const file = await storeFile(objects, 'file', { data })
    const rootEntry = await storeDirectory(objects, '', { entries: [file] })
    const manifest: SnapshotManifest = {
      ...{
        id: '',
        source: { host: 'h', userName: 'u', path: `/${data}` },
        description: '',
        startTime: 1n,
        endTime: 2n,
      },
      ...{ stats: emptyStats(), rootEntry, tags: {}, pins: [] },
    }
    const id = await manifests.put(snapshotLabels(manifest), snapshotPayload(manifest))
    return { id, content: file.obj as string as ContentId }
  })
}

function flipBit(id: BlobId): void {
  const blob = storage.blobs.get(id) ?? assert.fail(`${id} is not there`)
  storage.blobs.set(id, { ...blob, bytes: blob.bytes.with(20, (blob.bytes[20] ?? 0) ^ 1) })
}

function indexes(pattern: RegExp): BlobId[] {
  return [...storage.blobs.keys()].filter(id => pattern.test(id))
}

async function found(): Promise<string[]> {
  const fresh = await openRepository({ storage, password, clock })
  const result = await verifyRepository(fresh, { contents: 'all' })
  return result.found.map(({ error }) => error.message)
}

const maintain = () => runMaintenance(repository, { identity: 'default@default', mode: 'full' })

/** Days with a snapshot and a maintenance each; indexes of early days are merged in the end. */
async function pass(days: number): Promise<void> {
  for (let day = 0; day < days; day++) {
    await snapshot(`one of day ${day}`)
    await snapshot(`two of day ${day}`)
    clock.time += 25 * hour
    await maintain()
  }
}

describe('repairing indexes', () => {
  it('finds nothing to do where nothing is damaged', async () => {
    await snapshot('good')
    const before = [...storage.blobs.keys()]
    assert.deepEqual(await repairIndexes({ storage, password, clock }), {
      damaged: [],
      written: [],
      withoutPack: 0,
    })
    assert.deepEqual([...storage.blobs.keys()], before)
  })

  it('replaces the index of a session', async () => {
    for (const name of ['one', 'two', 'three']) await snapshot(name)
    for (const id of indexes(/^xn/)) {
      flipBit(id)
      await assert.rejects(openRepository({ storage, password, clock }), {
        code: 'CORRUPT',
        blobId: id,
        message: new RegExp(`${id} is damaged`),
        hint: /--rebuild-indexes.*index repair/,
      })
      const looked = await repairIndexes({ storage, password, clock, dryRun: true })
      assert.deepEqual([looked.damaged.map(({ blobId }) => blobId), looked.written], [[id], []])
      assert.ok(storage.blobs.has(id))
      const repair = await repairIndexes({ storage, password, clock })
      assert.deepEqual(
        repair.damaged.map(({ blobId, lostPacks }) => [blobId, lostPacks.length]),
        [[id, 0]],
      )
      assert.ok(!storage.blobs.has(id))
      assert.deepEqual(await found(), [])
    }
  })

  for (const [kind, pattern, days] of [
    ['one epoch', /^xs/, 4],
    ['a range of epochs', /^xr/, 12],
  ] as const) {
    it(`replaces a merged index of ${kind} by one that stands for the same`, async () => {
      await pass(days)
      await repository.refresh()
      const id = indexes(pattern).find(name => repository.index.current.blobNames.has(name))
      assert.ok(id, `there is an index of ${kind} among ${indexes(/^x/)}`)
      flipBit(id)
      const { written } = await repairIndexes({ storage, password, clock })
      assert.ok(!storage.blobs.has(id))
      assert.ok(written.every(name => pattern.test(name)))
      assert.deepEqual(await found(), [])
      repository = await openRepository({ storage, password, clock })
      await pass(4)
      assert.deepEqual(await found(), [])
      const snapshots = await repository.manifests.find({ type: 'snapshot' })
      assert.equal(snapshots.length, days * 2 + 8)
    })
  }

  it('lets nobody rely on contents whose packs are gone', async () => {
    await snapshot('kept')
    const gone = await snapshot('gone')
    await repository.writing({}, ({ manifests }) => deleteSnapshots(manifests, [gone.id]))
    const before = new Set(indexes(/^xn/))
    clock.time += 25 * hour
    // Marks the content; the pack goes as if a later run had deleted it.
    await maintain()
    const pack = repository.contents.info(gone.content)?.packBlobId ?? assert.fail('it is not known')
    storage.blobs.delete(blobId(pack))
    for (const id of indexes(/^xn/).filter(name => !before.has(name))) flipBit(id)
    const { withoutPack } = await repairIndexes({ storage, password, clock })
    assert.ok(withoutPack > 0)
    repository = await openRepository({ storage, password, clock })
    assert.equal(repository.contents.info(gone.content)?.deleted, true)
    await snapshot('gone')
    assert.deepEqual(await found(), [])
  })

  it('names the packs that cannot tell what they hold', async () => {
    const { content } = await snapshot('one')
    const pack = blobId(repository.contents.info(content)?.packBlobId ?? '')
    const { bytes, ...blob } = storage.blobs.get(pack) ?? assert.fail('no pack')
    storage.blobs.set(pack, { ...blob, bytes: bytes.with(-3, (bytes.at(-3) ?? 0) ^ 1) })
    for (const id of indexes(/^xn/)) flipBit(id)
    const { damaged } = await repairIndexes({ storage, password, clock, dryRun: true })
    assert.deepEqual(
      damaged.flatMap(({ lostPacks }) => lostPacks),
      [pack],
    )
  })
})

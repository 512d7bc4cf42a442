import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import { type BlobStorage, blobId } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import { createContentEncryption } from '../encryption/content-encryption.ts'
import { RepoError } from '../errors/repo-error.ts'
import { decryptBlob, encryptBlob } from '../format/blob-crypto.ts'
import { defaultEpochParameters } from '../format/format-parameters.ts'
import { createContentHash } from '../hashing/content-hash.ts'
import {
  advanceDeletionWatermark,
  advanceEpoch,
  checkpointRange,
  cleanUpMarkers,
  cleanUpSuperseded,
  compactSingleEpoch,
} from './epoch-maintenance.ts'
import { createEpochManager } from './epoch-manager.ts'
import { completeIndexSet } from './epoch-state.ts'
import { fetchAllIndexBlobs } from './fetch-index-blobs.ts'
import { legacyIndexSet, parseCompactionLog, readLegacyIndexSet } from './legacy-index.ts'

const hour = 3_600_000
const secret = Buffer.alloc(32, 1)
const crypto = {
  hash: await createContentHash('BLAKE2B-256-128', secret),
  encryption: createContentEncryption({ name: 'AES256-GCM-HMAC-SHA256', secret }),
}
const plain = (text: string): Uint8Array => Buffer.from(text)

/** Time that passes only when somebody sleeps or says so. */
function handClock(start = 1_700_000_000_000): Clock & { pass(ms: number): void } {
  let now = start
  return {
    now: () => now,
    sleep: async ms => {
      now += ms
    },
    pass: ms => {
      now += ms
    },
  }
}

/** An "index" here is a list of words; merging is the union. */
function mergeWords(plaintexts: readonly Uint8Array[]): Uint8Array[] {
  return [
    plain([...new Set(plaintexts.flatMap(text => Buffer.from(text).toString().split(' ')))].sort().join(' ')),
  ]
}

interface Meddling {
  afterPut?: (world: World, puts: number) => Promise<void>
  beforeGet?: (world: World, gets: number) => Promise<void>
}

interface World {
  clock: ReturnType<typeof handClock>
  /** The storage without meddling. */
  inner: ReturnType<typeof memoryStorage>
}

/** A repository's indexes, and somebody who meddles while they are written or read. */
function given(meddling: Meddling = {}) {
  const clock = handClock()
  const inner = memoryStorage({ clock })
  const world: World = { clock, inner }
  let puts = 0
  let gets = 0
  const storage: BlobStorage = {
    ...inner,
    async put(id, data, options) {
      await inner.put(id, data, options)
      await meddling.afterPut?.(world, ++puts)
    },
    async get(id, options) {
      await meddling.beforeGet?.(world, ++gets)
      return inner.get(id, options)
    },
  }
  const options = { storage, crypto, parameters: defaultEpochParameters, clock }
  const manager = createEpochManager(options)
  const context = { ...options, manager, merge: mergeWords, randomBytes }
  const write = (text: string) => manager.writeIndex({ shards: [plain(text)], sessionId: 's1' })
  const words = () =>
    manager.withIndexSet(async ({ blobs }) => {
      const texts = await fetchAllIndexBlobs(blobs, { storage, crypto })
      return texts.length === 0 ? '' : Buffer.from(mergeWords(texts)[0] ?? '').toString()
    })
  return { ...world, storage, manager, context, write, words }
}

const marker = (world: World, epoch: number) => world.inner.put(blobId(`xe${epoch}`), plain('epoch-marker'))

describe('writing an index', () => {
  it('adds a set of blobs to the current epoch under names that say its size', async () => {
    const { manager, inner } = given()
    await inner.put(blobId('xe3'), plain('epoch-marker'))
    const ids = await manager.writeIndex({
      shards: [plain('a'), plain('b')],
      sessionId: 's0123456789abcdef147',
    })
    assert.equal(ids.length, 2)
    for (const id of ids) assert.match(id, /^xn3_[0-9a-f]{32}-s0123456789abcdef147-c2$/)
    assert.equal(Buffer.from(decryptBlob(ids[0]!, await inner.get(ids[0]!), crypto)).toString(), 'a')
  })

  it('leaves the session empty when there is none', async () => {
    const { manager } = given()
    const [id = ''] = await manager.writeIndex({ shards: [plain('a')], sessionId: '' })
    assert.match(id, /^xn0_[0-9a-f]{32}--c1$/)
  })

  it('begins again in the new epoch when its listing got too old, and leaves nothing in the old one', async () => {
    const { manager, inner } = given({
      async afterPut(world, puts) {
        if (puts !== 1) return
        world.clock.pass(21 * 60_000)
        await marker(world, 1)
      },
    })
    const ids = await manager.writeIndex({ shards: [plain('a'), plain('b')], sessionId: 's1' })
    const indexes = [...inner.blobs.keys()].filter(id => id.startsWith('xn'))
    assert.deepEqual(new Set(indexes), new Set(ids))
    for (const id of ids) assert.match(id, /^xn1_/)
  })

  it('fails and leaves nothing when two epochs passed meanwhile', async () => {
    const { write, inner } = given({ afterPut: world => marker(world, 2) })
    await assert.rejects(write('a'), { code: 'STORAGE_FAILED', retryable: true })
    assert.deepEqual(
      [...inner.blobs.keys()].filter(id => id.startsWith('xn')),
      [],
    )
  })

  it('gives up when the storage never answers in time', async () => {
    const { manager, inner } = given({ afterPut: async world => world.clock.pass(21 * 60_000 * 10) })
    const slow = manager.writeIndex({
      shards: Array.from({ length: 20 }, (_, i) => plain(`${i}`)),
      sessionId: 's1',
    })
    await assert.rejects(slow, { code: 'STORAGE_FAILED' })
    assert.equal(inner.blobs.size, 0)
  })
})

describe('reading the index', () => {
  it('sees what others wrote since', async () => {
    const { write, words, inner } = given()
    await write('a')
    assert.equal(await words(), 'a')
    const other = encryptBlob(plain('b'), { prefix: 'xn0_', suffix: 's2-c1' }, crypto)
    await inner.put(other.id, other.bytes)
    assert.equal(await words(), 'a b')
  })

  it('lists again when a blob vanished under its hands', async () => {
    const { write, words, inner } = given({
      async beforeGet(world, gets) {
        if (gets !== 1) return
        // Somebody compacts and cleans up between our listing and our reading.
        for (const id of [...world.inner.blobs.keys()].filter(name => name.startsWith('xn0_')))
          world.inner.blobs.delete(id)
        const merged = encryptBlob(plain('a'), { prefix: 'xs0_', suffix: 's0000000000000001-c1' }, crypto)
        await world.inner.put(merged.id, merged.bytes)
      },
    })
    await write('a')
    await inner.put(blobId('xe2'), plain('epoch-marker'))
    assert.equal(await words(), 'a')
  })

  it('fails when blobs keep vanishing', async () => {
    const { write, manager } = given()
    await write('a')
    const vanished = new RepoError('BLOB_NOT_FOUND', { message: 'gone' })
    await assert.rejects(
      manager.withIndexSet(() => Promise.reject(vanished)),
      vanished,
    )
  })

  it('does not try again after any other failure', async () => {
    const { write, manager } = given()
    await write('a')
    const attempts: number[] = []
    const load = () => {
      attempts.push(1)
      return Promise.reject(new RepoError('CORRUPT', { message: 'bad' }))
    }
    await assert.rejects(manager.withIndexSet(load), { code: 'CORRUPT' })
    assert.equal(attempts.length, 1)
  })

  it('names a blob that is damaged', async () => {
    const { write, words, inner } = given()
    const [id] = await write('a')
    inner.blobs.get(id!)!.bytes[15]! ^= 1
    await assert.rejects(words(), { code: 'CORRUPT', blobId: id })
  })

  it('stops when it is cancelled', async () => {
    const { manager } = given()
    await assert.rejects(manager.refresh(AbortSignal.abort()), { code: 'CANCELLED' })
  })

  it('relies on a listing for twenty minutes', async () => {
    const { manager, inner, clock } = given()
    await manager.refresh()
    await inner.put(blobId('xe1'), plain('epoch-marker'))
    clock.pass(20 * 60_000 - 1)
    assert.equal((await manager.state()).writeEpoch, 0)
    clock.pass(1)
    assert.equal((await manager.state()).writeEpoch, 1)
  })
})

describe('the maintenance of epochs', () => {
  it('keeps every word through a hundred days of writing, compacting and cleaning up', async () => {
    const { clock, context, write, words, inner, manager } = given()
    const expected: string[] = []
    const done = { advanced: 0, compacted: 0, ranges: 0, cleaned: 0, markers: 0 }
    for (let day = 0; day < 100; day++) {
      for (let i = 0; i < 11; i++) {
        const word = `day${String(day).padStart(3, '0')}-${String(i).padStart(2, '0')}`
        await write(word)
        expected.push(word)
        clock.pass(2 * hour)
      }
      done.compacted += (await compactSingleEpoch(context))?.outputs.length ?? 0
      done.advanced = (await advanceEpoch(context)) ?? done.advanced
      done.ranges += (await checkpointRange(context))?.outputs.length ?? 0
      done.markers += (await cleanUpMarkers(context)).length
      done.cleaned += (await cleanUpSuperseded(context)).length
      clock.pass(2 * hour)
    }
    assert.equal(await words(), expected.join(' '))
    const state = await manager.refresh()
    assert.equal(state.writeEpoch, done.advanced)
    assert.ok(done.advanced > 20 && done.compacted > 15 && done.ranges > 1, JSON.stringify(done))
    assert.ok(done.cleaned > 200 && done.markers > 10, JSON.stringify(done))
    // What is read at the end is far less than what was written.
    assert.ok(completeIndexSet(state).blobs.length < 150)
    assert.ok(inner.blobs.size < expected.length / 2)
  })

  it('moves the deletion watermark forward only', async () => {
    const { context, manager } = given()
    assert.equal(await advanceDeletionWatermark(context, 1000), true)
    assert.equal(await advanceDeletionWatermark(context, 900), false)
    assert.equal((await manager.refresh()).deletionWatermark, 1000)
  })
})

describe('the legacy index', () => {
  const id = (digit: string): string => `n${digit.repeat(32)}`
  const metadata = (name: string) => ({ id: blobId(name), length: 1, timestamp: 0 })
  const poison =
    'n00000000000000000000000000000000-repository_unreadable_by_this_kopia_version_upgrade_required'

  it('leaves out what a finished compaction replaced, and the poison of an upgrade', () => {
    const blobs = [id('a'), id('b'), id('c'), poison].map(metadata)
    const names = (logs: Parameters<typeof legacyIndexSet>[1]) =>
      legacyIndexSet(blobs, logs).map(blob => blob.id)
    assert.deepEqual(names([]), [id('a'), id('b'), id('c')])
    assert.deepEqual(names([{ inputs: [id('a'), id('b')], outputs: [id('c')] }]), [id('c')])
    assert.deepEqual(names([{ inputs: [id('a'), id('b')], outputs: [id('d')] }]), [id('a'), id('b'), id('c')])
  })

  it('is found in a storage through its compaction logs', async () => {
    const storage = memoryStorage()
    const inputs = ['a', 'b'].map(text => encryptBlob(plain(text), { prefix: 'n' }, crypto))
    const output = encryptBlob(plain('a b'), { prefix: 'n', suffix: 's1' }, crypto)
    const list = (blobs: readonly { id: string }[]) =>
      blobs.map(blob => ({ id: blob.id, length: 1, timestamp: '2026-01-01T00:00:00Z' }))
    const log = JSON.stringify({ inputMetadata: list(inputs), outputMetadata: list([output]) })
    const logBlob = encryptBlob(plain(log), { prefix: 'm' }, crypto)
    for (const blob of [...inputs, output, logBlob]) await storage.put(blob.id, blob.bytes)
    await storage.put(blobId(poison), plain('poison'))
    const { blobs } = await readLegacyIndexSet({ storage, crypto })
    assert.deepEqual(
      blobs.map(blob => blob.id),
      [output.id],
    )
  })

  it('refuses a malformed compaction log', () => {
    for (const text of ['', '[]', '{"inputMetadata":5}', '{"inputMetadata":[{}]}']) {
      assert.throws(() => parseCompactionLog(plain(text)), { code: 'CORRUPT' }, text)
    }
    assert.deepEqual(parseCompactionLog(plain('{"inputMetadata":null}')), { inputs: [], outputs: [] })
  })
})

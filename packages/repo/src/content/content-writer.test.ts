import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { type MemoryStorage, memoryStorage, type StoredBlob } from '../blob/memory.ts'
import type { BlobId, BlobStorage } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import { createContentEncryption } from '../encryption/content-encryption.ts'
import { isRepoError, RepoError } from '../errors/repo-error.ts'
import { createFormatBlob, type OpenFormat } from '../format/repository-format.ts'
import { createContentHash } from '../hashing/content-hash.ts'
import type { ContentId } from '../index-format/content-id.ts'
import { CommittedIndex } from './committed-index.ts'
import { createContentWriter, type SessionWriter } from './content-writer.ts'
import { PackRanges } from './pack-ranges.ts'
import type { ContentWriterOptions } from './writer-settings.ts'

const start = Date.UTC(2026, 10, 15)
const minute = 60_000
const mebibyte = 1 << 20

let format: OpenFormat
before(async () => {
  format = await createFormatBlob(memoryStorage(), { password: 'x', format: { maxPackSize: mebibyte } })
})

/** A repository in memory with a clock that stands still until it is moved. */
class Place {
  readonly blobs = new Map<BlobId, StoredBlob>()
  time = start
  readonly clock: Clock = {
    now: () => this.time,
    sleep: async ms => {
      this.time += ms
    },
  }
  readonly storage: MemoryStorage = memoryStorage({ clock: this.clock, blobs: this.blobs })

  /** A client of its own, which has seen what is there now. */
  async client(options: Partial<ContentWriterOptions> = {}): Promise<SessionWriter> {
    const storage = options.storage ?? this.storage
    const { format: parameters, keys } = format
    const codec = {
      hash: await createContentHash(parameters.hash, keys.hash),
      encryption: createContentEncryption({ name: parameters.encryption, secret: keys.encryption }),
    }
    const { clock } = this
    const index = new CommittedIndex({ storage, crypto: codec, clock, format: parameters })
    await index.refresh()
    const ranges = new PackRanges({ storage })
    const client = { username: 'u', hostname: 'h' }
    return createContentWriter({
      storage,
      format: parameters,
      codec,
      crypto: codec,
      index,
      ranges,
      clock,
      client,
      ...options,
    })
  }

  names(prefix: string): string[] {
    return [...this.blobs.keys()].filter(name => name.startsWith(prefix))
  }
}

/** The storage with `put` run through a gate that may wait or throw. */
function gated(storage: BlobStorage, gate: (id: BlobId, signal?: AbortSignal) => Promise<void>): BlobStorage {
  return {
    ...storage,
    async put(id, data, options) {
      await gate(id, options?.signal)
      await storage.put(id, data, options)
    },
  }
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text)
}

async function readAll(writer: SessionWriter, ids: readonly ContentId[]): Promise<string[]> {
  return Promise.all(ids.map(async id => Buffer.from(await writer.read(id)).toString()))
}

describe('a content writer', () => {
  it('reads at once what it wrote, and others after the flush', async () => {
    const place = new Place()
    const [writer, other] = [await place.client(), await place.client()]
    const id = await writer.write(bytes('hello'))
    assert.deepEqual(await readAll(writer, [id]), ['hello'])
    await other.refresh()
    await assert.rejects(other.read(id), error => isRepoError(error, 'CONTENT_NOT_FOUND'))
    await writer.flush()
    await other.refresh()
    assert.deepEqual(await readAll(other, [id]), ['hello'])
  })

  it('stores the session marker, then packs, then the index, and removes the marker last', async () => {
    const place = new Place()
    const order: string[] = []
    const { storage } = place
    const writer = await place.client({
      storage: {
        ...storage,
        async put(id, data, options) {
          await storage.put(id, data, options)
          order.push(`put ${id.slice(0, 1)}`)
        },
        async delete(id, options) {
          order.push(`delete ${id.slice(0, 1)}`)
          await storage.delete(id, options)
        },
      },
    })
    await writer.write(bytes('data'))
    await writer.write(bytes('directory'), { prefix: 'k' })
    await writer.flush()
    assert.equal(order.shift(), 'put s')
    assert.deepEqual(new Set([order.shift(), order.shift()]), new Set(['put p', 'put q']))
    assert.deepEqual(order, ['put x', 'delete s'])
  })

  it('stores the same bytes once', async () => {
    const place = new Place()
    const [first, second] = [await place.client(), await place.client()]
    const id = await first.write(bytes('same'))
    assert.equal(await first.write(bytes('same')), id)
    await first.flush()
    await second.refresh()
    assert.equal(await second.write(bytes('same')), id)
    await second.flush()
    assert.equal(place.names('p').length, 1)
    assert.equal(place.names('x').length, 1)
  })

  it('stores full packs before it is flushed, and shows none of them', async () => {
    const place = new Place()
    const writer = await place.client()
    for (let index = 0; index < 5; index += 1) await writer.write(randomBytes(600_000))
    await writer.write(bytes('one more turn'))
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(place.names('p').length, 2)
    assert.deepEqual(place.names('x'), [])
  })

  it('compresses where that helps and only there', async () => {
    const place = new Place()
    const writer = await place.client()
    const text = await writer.write(bytes('a'.repeat(10_000)), { compressor: 'zstd-fastest' })
    const noise = await writer.write(randomBytes(10_000), { compressor: 'zstd-fastest' })
    assert.equal(writer.info(text)?.compressionId, 0x1101)
    assert.ok((writer.info(text)?.packedLength ?? 0) < 1000)
    assert.equal(writer.info(noise)?.compressionId, 0)
    await writer.flush()
    assert.deepEqual(await readAll(await place.client(), [text]), ['a'.repeat(10_000)])
  })

  it('keeps working after a content that cannot be stored', async () => {
    const writer = await new Place().client()
    await assert.rejects(writer.write(bytes('a'), { compressor: 'none such' }))
    await assert.rejects(writer.write(bytes('a'), { prefix: 'A' }))
    const id = await writer.write(bytes('b'))
    await writer.flush()
    assert.deepEqual(await readAll(writer, [id]), ['b'])
  })
})

describe('a deleted content', () => {
  async function withDeleted(): Promise<{ place: Place; id: ContentId }> {
    const place = new Place()
    const writer = await place.client()
    const id = await writer.write(bytes('gone'))
    await writer.flush()
    await writer.delete(id)
    await writer.flush()
    return { place, id }
  }

  it('is deleted for others, later than it was written, and can still be read', async () => {
    const { place, id } = await withDeleted()
    const other = await place.client()
    assert.deepEqual([other.info(id)?.deleted, other.info(id)?.timestamp], [true, start / 1000 + 1])
    assert.deepEqual(await readAll(other, [id]), ['gone'])
    assert.deepEqual(await Array.fromAsync(other.entries()), [])
  })

  it('is stored again when it is written again', async () => {
    const { place, id } = await withDeleted()
    const writer = await place.client()
    assert.equal(await writer.write(bytes('gone')), id)
    await writer.flush()
    assert.equal(place.names('p').length, 2)
    const other = await place.client()
    assert.deepEqual([other.info(id)?.deleted, other.info(id)?.timestamp], [false, start / 1000 + 2])
  })

  it('is stored again when it is undeleted', async () => {
    const { place, id } = await withDeleted()
    const writer = await place.client()
    await writer.undelete(id)
    await writer.flush()
    assert.equal((await place.client()).info(id)?.deleted, false)
    assert.equal(place.names('p').length, 2)
  })

  it('stays deleted when it is rewritten into another pack', async () => {
    const { place, id } = await withDeleted()
    const writer = await place.client()
    const before = writer.info(id)
    await writer.rewrite(id)
    await writer.flush()
    const after = (await place.client()).info(id)
    assert.equal(after?.deleted, true)
    assert.notEqual(after?.packBlobId, before?.packBlobId)
  })

  it('may be deleted before it was flushed', async () => {
    const place = new Place()
    const writer = await place.client()
    const id = await writer.write(bytes('short life'))
    await writer.delete(id)
    assert.deepEqual(await Array.fromAsync(writer.entries()), [])
    await writer.flush()
    assert.deepEqual(await Array.fromAsync((await place.client()).entries()), [])
  })

  it('that never was cannot be deleted', async () => {
    const writer = await new Place().client()
    await assert.rejects(writer.delete('00'.repeat(16) as ContentId), error =>
      isRepoError(error, 'CONTENT_NOT_FOUND'),
    )
  })
})

describe('a pack that cannot be stored', () => {
  const refused = new RepoError('STORAGE_FULL', { message: 'no space' })

  it('fails the flush, shows nothing, and is stored by the next flush', async () => {
    const place = new Place()
    const refusing = new Set(['p'])
    const storage = gated(place.storage, async id => {
      if (refusing.has(id.charAt(0))) throw refused
    })
    const writer = await place.client({ storage })
    const id = await writer.write(bytes('precious'))
    await assert.rejects(writer.flush(), refused)
    assert.deepEqual(place.names('x'), [])
    assert.equal(place.names('s').length, 1)
    assert.deepEqual(await readAll(writer, [id]), ['precious'])
    refusing.clear()
    await writer.flush()
    assert.deepEqual(place.names('s'), [])
    assert.deepEqual(await readAll(await place.client(), [id]), ['precious'])
  })

  it('fails a later write when it fails once more', async () => {
    const place = new Place()
    const storage = gated(place.storage, async id => {
      if (id.startsWith('p')) throw refused
    })
    const writer = await place.client({ storage })
    await writer.write(randomBytes(2 * mebibyte))
    await new Promise(resolve => setImmediate(resolve))
    await assert.rejects(writer.write(bytes('later')), refused)
  })

  it('does not fail a later write when the second try succeeds', async () => {
    const place = new Place()
    let failures = 1
    const storage = gated(place.storage, async id => {
      if (id.startsWith('p') && failures-- > 0) throw refused
    })
    const writer = await place.client({ storage })
    const id = await writer.write(randomBytes(2 * mebibyte))
    await new Promise(resolve => setImmediate(resolve))
    await writer.write(bytes('later'))
    await writer.flush()
    await (await place.client()).read(id)
  })
})

describe('an index that cannot be stored', () => {
  it('leaves the session marker, and the next flush stores it', async () => {
    const place = new Place()
    let failures = 1
    const storage = gated(place.storage, async id => {
      if (id.startsWith('x') && failures-- > 0) throw new RepoError('STORAGE_FAILED', { message: 'later' })
    })
    const writer = await place.client({ storage })
    const id = await writer.write(bytes('content'))
    await assert.rejects(writer.flush(), error => isRepoError(error, 'STORAGE_FAILED'))
    assert.equal(place.names('s').length, 1)
    await writer.flush()
    assert.deepEqual(place.names('s'), [])
    assert.deepEqual(await readAll(await place.client(), [id]), ['content'])
  })
})

describe('a writer in time', () => {
  it('publishes by itself what is older than ten minutes', async () => {
    const place = new Place()
    const writer = await place.client()
    const id = await writer.write(bytes('early'))
    place.time += 11 * minute
    await writer.write(bytes('late'))
    assert.deepEqual(await readAll(await place.client(), [id]), ['early'])
  })

  it('sees within a quarter of an hour that a content it relies on was deleted, and stores it again', async () => {
    const place = new Place()
    const [writer, maintainer] = [await place.client(), await place.client()]
    const id = await maintainer.write(bytes('shared'))
    await maintainer.flush()
    await writer.refresh()
    await maintainer.delete(id)
    await maintainer.flush()
    place.time += 16 * minute
    await writer.write(bytes('shared'))
    await writer.flush()
    assert.equal((await place.client()).info(id)?.deleted, false)
  })

  it('stores again what another client deleted after it was written here and before it was published', async () => {
    const place = new Place()
    const [writer, other] = [await place.client(), await place.client()]
    const id = await writer.write(bytes('shared'))
    await other.write(bytes('shared'))
    await other.flush()
    await other.delete(id)
    await other.flush()
    await writer.refresh()
    await writer.write(bytes('shared'))
    await writer.flush()
    assert.equal((await place.client()).info(id)?.deleted, false)
  })

  for (const skew of [-6, 6]) {
    it(`refuses to write when its clock is ${skew} minutes off the storage's`, async () => {
      const place = new Place()
      const clock = { ...place.clock, now: () => place.time + skew * minute }
      const writer = await place.client({ clock })
      await assert.rejects(writer.write(bytes('when?')), error => isRepoError(error, 'CLOCK_SKEW'))
      assert.deepEqual([...place.blobs.keys()], [])
    })
  }

  it('gives a content a later time than its entry although its clock went back', async () => {
    const place = new Place()
    const writer = await place.client()
    const id = await writer.write(bytes('x'))
    await writer.flush()
    place.time -= 3 * minute
    await writer.delete(id)
    assert.equal(writer.info(id)?.timestamp, start / 1000 + 1)
  })
})

describe('an atomic change', () => {
  it('is in one index although a flush is asked for meanwhile', async () => {
    const place = new Place()
    const writer = await place.client()
    const old = await writer.write(bytes('old'), { prefix: 'm' })
    await writer.flush()
    const [index] = place.names('x')
    let flushed: Promise<void> | undefined
    const changed = await writer.atomically(async () => {
      const id = await writer.write(bytes('new'), { prefix: 'm' })
      flushed = writer.flush()
      place.time += 11 * minute
      await new Promise(resolve => setImmediate(resolve))
      await writer.delete(old)
      return id
    })
    await flushed
    const added = place.names('x').filter(name => name !== index)
    assert.equal(added.length, 1)
    const other = await place.client()
    assert.deepEqual([other.info(changed)?.deleted, other.info(old)?.deleted], [false, true])
  })
})

describe('a writer that is faster than its storage', () => {
  it('waits instead of holding more packs than it may', async () => {
    const place = new Place()
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    const storage = gated(place.storage, id => (id.startsWith('p') ? opened : Promise.resolve()))
    const writer = await place.client({ storage, maxBytesInFlight: 2 * mebibyte })
    await writer.write(bytes('begin'))
    let written = 0
    while (written < 100 && writer.tryWrite(randomBytes(mebibyte)) !== undefined) written += 1
    assert.equal(written, 2)
    open()
    await writer.write(randomBytes(mebibyte))
    await writer.flush()
    assert.equal((await Array.fromAsync((await place.client()).entries())).length, 4)
  })

  it('stops waiting when its caller does', async () => {
    const place = new Place()
    const storage = gated(place.storage, id =>
      id.startsWith('p') ? new Promise(() => {}) : Promise.resolve(),
    )
    const writer = await place.client({ storage, maxBytesInFlight: 1 })
    await writer.write(randomBytes(mebibyte))
    const caller = new AbortController()
    const waiting = writer.write(bytes('next'), { signal: caller.signal })
    setImmediate(() => caller.abort())
    await assert.rejects(waiting, error => isRepoError(error, 'CANCELLED'))
  })
})

describe('a writer that is given up', () => {
  it('ends its uploads and its session, and shows nothing', async () => {
    const place = new Place()
    const storage = gated(place.storage, (id, signal) => {
      if (!id.startsWith('p')) return Promise.resolve()
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
    })
    const writer = await place.client({ storage })
    await writer.write(randomBytes(2 * mebibyte))
    await writer[Symbol.asyncDispose]()
    assert.deepEqual([...place.blobs.keys()], [])
    await assert.rejects(writer.write(bytes('too late')), error => isRepoError(error, 'CANCELLED'))
  })
})

describe('many callers of one writer', () => {
  it('lose nothing while it is flushed again and again', async () => {
    const place = new Place()
    const storage = gated(place.storage, () => new Promise(resolve => setImmediate(resolve)))
    const writer = await place.client({ storage, maxBytesInFlight: mebibyte })
    const written = new Map<ContentId, string>()
    const callers = Array.from({ length: 8 }, async (_, caller) => {
      for (let turn = 0; turn < 60; turn += 1) {
        const text = `${(caller * turn) % 97} `.repeat(5_000)
        const id = await writer.write(bytes(text), { prefix: turn % 5 === 0 ? 'k' : '' })
        written.set(id, text)
        if (turn % 11 === caller) await writer.flush()
        assert.equal(Buffer.from(await writer.read(id)).toString(), text)
      }
    })
    await Promise.all(callers)
    await writer.flush()
    const other = await place.client()
    for (const [id, text] of written) assert.equal(Buffer.from(await other.read(id)).toString(), text)
    assert.deepEqual(place.names('s'), [])
  })
})

describe('refreshing', () => {
  /** The storage with listings that show what was there when they were asked for, and end when told. */
  function slowListing(storage: BlobStorage, ended: () => Promise<void>): BlobStorage {
    return {
      ...storage,
      async *list(prefix, options) {
        const listed = await Array.fromAsync(storage.list(prefix, options))
        await ended()
        yield* listed
      },
    }
  }

  it('while a flush is under way loses nothing of it', async () => {
    const place = new Place()
    let waiting: Promise<void> = Promise.resolve()
    const writer = await place.client({ storage: slowListing(place.storage, () => waiting) })
    const id = await writer.write(bytes('flushed'))
    const { promise, resolve: end } = Promise.withResolvers<void>()
    waiting = promise
    const refreshed = writer.refresh()
    await new Promise(resolve => setImmediate(resolve))
    waiting = Promise.resolve()
    const flushed = writer.flush()
    for (let turn = 0; turn < 20; turn += 1) await new Promise(resolve => setImmediate(resolve))
    end()
    await Promise.all([refreshed, flushed])
    assert.deepEqual(await readAll(writer, [id]), ['flushed'])
  })

  it('by a listing that lags behind keeps what the client itself has flushed', async () => {
    const place = new Place()
    const hidden = new Set<string>()
    const { storage } = place
    const lagging: BlobStorage = {
      ...storage,
      async *list(prefix, options) {
        for await (const blob of storage.list(prefix, options)) if (!hidden.has(blob.id)) yield blob
      },
    }
    const writer = await place.client({ storage: lagging })
    const id = await writer.write(bytes('flushed'))
    await writer.flush()
    for (const name of place.names('x')) hidden.add(name)
    await writer.refresh()
    assert.deepEqual(await readAll(writer, [id]), ['flushed'])
  })
})

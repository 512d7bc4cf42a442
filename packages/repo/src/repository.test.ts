import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { type MemoryStorage, memoryStorage, type StoredBlob } from './blob/memory.ts'
import { type BlobId, blobId } from './blob/storage.ts'
import { systemClock } from './clock/clock.ts'
import { isRepoError } from './errors/repo-error.ts'
import { parseFormatBlob, serializeFormatBlob } from './format/format-blob.ts'
import { formatBlobId } from './format/repository-format.ts'
import { seal, unseal } from './format/sealed-block.ts'
import { manifestId } from './manifest/manifest-store.ts'
import { objectId } from './object/object-id.ts'
import type { ObjectReader } from './object/object-reader.ts'
import { createRepository, openRepository, type Repository } from './repository.ts'

const password = 'correct horse'
let template: Map<BlobId, StoredBlob>

before(async () => {
  const storage = memoryStorage()
  // Small chunks make objects of many contents out of little data.
  await createRepository({ storage, password, format: { splitter: 'DYNAMIC-128K-BUZHASH' } })
  template = storage.blobs
})

/** Another copy of one repository: creating each anew would spend its time on the password. */
async function open(
  storage: MemoryStorage = memoryStorage({ blobs: new Map(template) }),
): Promise<Repository> {
  return openRepository({ storage, password })
}

function names(storage: MemoryStorage, prefix: string): string[] {
  return [...storage.blobs.keys()].filter(name => name.startsWith(prefix))
}

async function bytesOf(reader: ObjectReader): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(reader.stream()))
}

describe('a new repository', () => {
  it('has the maintenance parameters with its maker as the owner', async () => {
    const storage = memoryStorage()
    const client = { username: 'me', hostname: 'here' }
    const created = await createRepository({ storage, password, client })
    const [found] = await created.manifests.find({ type: 'maintenance' })
    const { payload } = await created.manifests.get(found?.id ?? manifestId(''))
    assert.equal((payload as { owner: string }).owner, 'me@here')
  })

  it('is refused where something is stored already', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    await assert.rejects(createRepository({ storage, password }), error =>
      isRepoError(error, 'ALREADY_EXISTS'),
    )
  })

  it('leaves no session marker', async () => {
    assert.deepEqual(names(memoryStorage({ blobs: template }), 's'), [])
  })
})

describe('opening', () => {
  it('fails with another password', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    await assert.rejects(openRepository({ storage, password: 'wrong' }), error =>
      isRepoError(error, 'BAD_PASSWORD'),
    )
  })

  it('fails where there is no repository', async () => {
    await assert.rejects(openRepository({ storage: memoryStorage(), password }), error =>
      isRepoError(error, 'NOT_A_REPOSITORY'),
    )
  })

  it('for reading refuses to write', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    const repository = await openRepository({ storage, password, readOnly: true })
    const writing = repository.writing({}, writer => writer.objects.put(Buffer.from('x')))
    await assert.rejects(writing, error => isRepoError(error, 'READ_ONLY'))
  })

  it('names a damaged index blob', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    const [index = ''] = names(storage, 'xn')
    const damaged = new Uint8Array(storage.blobs.get(blobId(index))?.bytes ?? [])
    damaged[40] = (damaged[40] ?? 0) ^ 1
    await storage.put(blobId(index), damaged)
    await assert.rejects(open(storage), error => isRepoError(error, 'CORRUPT') && error.blobId === index)
  })
})

describe('a repository that somebody locks to change its format', () => {
  /** Puts a lock into the format blob as `kopia repository upgrade begin` does. */
  async function lock(storage: MemoryStorage, { format: { keys, uniqueId } }: Repository): Promise<void> {
    const blob = parseFormatBlob(await storage.get(formatBlobId))
    const key = { formatKey: keys.format, uniqueId }
    const block = JSON.parse(Buffer.from(unseal(blob.block, key)).toString())
    block.format.upgradeLock = {
      ownerID: 'somebody',
      creationTime: '2026-11-15T00:00:00Z',
      advanceNoticeDuration: 0,
      ioDrainTimeout: 900_000_000_000,
      message: 'upgrading',
    }
    const sealed = seal(Buffer.from(JSON.stringify(block)), key, randomBytes(12))
    await storage.put(formatBlobId, serializeFormatBlob({ ...blob, block: sealed }))
  }

  it('cannot be opened, and is left alone within a quarter of an hour by who has it open', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    let moved = 0
    const clock = { ...systemClock, now: () => Date.now() + moved }
    const repository = await openRepository({ storage, password, clock })
    await lock(storage, repository)
    await assert.rejects(open(storage), error => isRepoError(error, 'LOCKED'))
    moved = 16 * 60_000
    const writing = repository.writing({}, ({ objects }) => objects.put(randomBytes(100)))
    await assert.rejects(writing, error => isRepoError(error, 'LOCKED'))
    assert.deepEqual(names(storage, 's'), [])
  })
})

describe('a writing scope', () => {
  it('is seen by others when it has ended', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    const repository = await open(storage)
    const other = await open(storage)
    const id = await repository.writing({}, async ({ objects, manifests }) =>
      manifests.put({ type: 't' }, { obj: await objects.put(Buffer.from('data')) }),
    )
    await other.refresh()
    const { payload } = await other.manifests.get(id)
    const object = await other.objects.open(objectId((payload as { obj: string }).obj))
    assert.equal((await bytesOf(object)).toString(), 'data')
  })

  it('that throws leaves nothing that others see', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    const repository = await open(storage)
    const failing = repository.writing({}, async ({ manifests, objects }) => {
      await objects.put(randomBytes(1000))
      await manifests.put({ type: 't' }, {})
      throw new RangeError('enough')
    })
    await assert.rejects(failing, RangeError)
    await repository.refresh()
    assert.deepEqual(await repository.manifests.find({ type: 't' }), [])
    assert.deepEqual(names(storage, 's'), [])
    assert.deepEqual(
      names(storage, 'x'),
      [...template.keys()].filter(name => name.startsWith('x')),
    )
  })

  it('keeps what was flushed before it failed', async () => {
    const repository = await open()
    const failing = repository.writing({}, async ({ manifests, flush }) => {
      await manifests.put({ type: 'kept' }, 1)
      await flush()
      await manifests.put({ type: 'lost' }, 2)
      throw new RangeError('enough')
    })
    await assert.rejects(failing, RangeError)
    await repository.refresh()
    assert.equal((await repository.manifests.find({ type: 'kept' })).length, 1)
    assert.equal((await repository.manifests.find({ type: 'lost' })).length, 0)
  })

  it('that is cancelled gives up', async () => {
    const repository = await open()
    const cancel = new AbortController()
    const cancelled = repository.writing({ signal: cancel.signal }, async ({ manifests }) => {
      await manifests.put({ type: 't' }, {})
      cancel.abort()
    })
    await assert.rejects(cancelled, error => isRepoError(error, 'CANCELLED'))
    await repository.refresh()
    assert.deepEqual(await repository.manifests.find({ type: 't' }), [])
  })
})

describe('an object', () => {
  for (const length of [0, 1, 65_535, 65_536, 131_072, 1_000_003]) {
    it(`of ${length} bytes reads as it was written, whole and in pieces, from both ways of writing`, async () => {
      const repository = await open()
      const data = randomBytes(length)
      const ids = await repository.writing({}, async ({ objects }) => {
        const writer = objects.create()
        for (let at = 0; at < length; at += 10_007) await writer.write(data.subarray(at, at + 10_007))
        return [await objects.put(data), await writer.finish()] as const
      })
      assert.equal(ids[0], ids[1])
      const reader = await repository.objects.open(ids[0])
      assert.equal(reader.length, length)
      assert.deepEqual(await bytesOf(reader), data)
      for (const [offset, count] of [
        [0, length],
        [0, 10],
        [length - 5, 100],
        [Math.floor(length / 2), 200_000],
        [length, 1],
      ] as const) {
        const from = Math.max(0, offset)
        assert.deepEqual(Buffer.from(await reader.read(from, count)), data.subarray(from, from + count))
      }
    })
  }

  it('is read from the middle without its start', async () => {
    const repository = await open()
    const data = randomBytes(900_000)
    const id = await repository.writing({}, ({ objects }) => objects.put(data))
    const reader = await repository.objects.open(id)
    const part = Buffer.concat(await Array.fromAsync(reader.stream({ offset: 500_000, length: 300_000 })))
    assert.deepEqual(part, data.subarray(500_000, 800_000))
  })

  it('of so many chunks that its index is split has two levels of index', async () => {
    const repository = await open()
    // Zeros are cut at half the average: 64 KiB; 6,000 chunks are listed in some 400 KB.
    const length = 6_000 << 16
    const id = await repository.writing({}, async ({ objects }) => {
      const writer = objects.create({ metadataCompressor: '' })
      const zeros = new Uint8Array(1 << 20)
      for (let written = 0; written < length; written += zeros.length) await writer.write(zeros)
      return writer.finish()
    })
    assert.match(id, /^IIx/)
    const reader = await repository.objects.open(id)
    assert.equal(reader.length, length)
    assert.deepEqual(await reader.read(length - 3, 10), new Uint8Array(3))
  })

  it('that is concatenated holds its parts one after the other', async () => {
    const repository = await open()
    const parts = [randomBytes(400_000), Buffer.alloc(0), Buffer.from('tail'), randomBytes(300_000)]
    const id = await repository.writing({}, async ({ objects }) => {
      const ids = []
      for (const part of parts) ids.push(await objects.put(part))
      return objects.concatenate(ids)
    })
    assert.match(id, /^Ix/)
    assert.deepEqual(await bytesOf(await repository.objects.open(id)), Buffer.concat(parts))
  })

  it('can be read up to a checkpoint while it is written', async () => {
    const repository = await open()
    const data = randomBytes(700_000)
    await repository.writing({}, async ({ objects }) => {
      const writer = objects.create()
      assert.equal(await writer.checkpoint(), undefined)
      await writer.write(data)
      const checkpoint = await writer.checkpoint()
      assert.ok(checkpoint)
      const soFar = await bytesOf(await objects.open(checkpoint))
      assert.ok(soFar.length > 400_000)
      assert.deepEqual(soFar, data.subarray(0, soFar.length))
      assert.deepEqual(await bytesOf(await objects.open(await writer.finish())), data)
    })
  })

  it('that is not there is not found', async () => {
    const missing = (await open()).objects.open(objectId('00'.repeat(16)))
    await assert.rejects(missing, error => isRepoError(error, 'OBJECT_NOT_FOUND'))
  })

  it('with a damaged chunk names the content and its blob, and others still read', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    const repository = await open(storage)
    const packs = names(storage, 'p')
    const bad = await repository.writing({}, ({ objects }) => objects.put(randomBytes(5000)))
    const good = await repository.writing({}, ({ objects }) => objects.put(Buffer.from('good')))
    const [pack = ''] = names(storage, 'p').filter(name => !packs.includes(name))
    const damaged = new Uint8Array(storage.blobs.get(blobId(pack))?.bytes ?? [])
    damaged[1000] = (damaged[1000] ?? 0) ^ 0x10
    await storage.put(blobId(pack), damaged)
    await assert.rejects(
      repository.objects.open(bad).then(bytesOf),
      error => isRepoError(error, 'CORRUPT') && error.contentId === bad && error.blobId === pack,
    )
    assert.equal((await bytesOf(await repository.objects.open(good))).toString(), 'good')
  })
})

describe('manifests', () => {
  it('are found by any of their labels, oldest first', async () => {
    const repository = await open()
    const ids = await repository.writing({}, async ({ manifests }) => [
      await manifests.put({ type: 't', a: '1', b: '1' }, 'first'),
      await manifests.put({ type: 't', a: '1', b: '2' }, 'second'),
      await manifests.put({ type: 'u', a: '1' }, 'third'),
    ])
    const found = async (labels: Record<string, string>) =>
      (await repository.manifests.find(labels)).map(({ id }) => ids.indexOf(id))
    assert.deepEqual(await found({ a: '1' }), [0, 1, 2])
    assert.deepEqual(await found({ type: 't', a: '1' }), [0, 1])
    assert.deepEqual(await found({ b: '2' }), [1])
    assert.deepEqual(await found({ b: '3' }), [])
  })

  it('are seen by their writer before the flush, and are gone for it when deleted', async () => {
    const repository = await open()
    await repository.writing({}, async ({ manifests }) => {
      const id = await manifests.put({ type: 't' }, { n: 1 })
      assert.deepEqual((await manifests.get(id)).payload, { n: 1 })
      await manifests.delete(id)
      await assert.rejects(manifests.get(id), error => isRepoError(error, 'MANIFEST_NOT_FOUND'))
      assert.deepEqual(await manifests.find({ type: 't' }), [])
    })
    assert.deepEqual(await repository.manifests.find({ type: 't' }), [])
  })

  it('stay deleted when the deleter has the slower clock', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    const repository = await open(storage)
    const id = await repository.writing({}, ({ manifests }) => manifests.put({ type: 't' }, 1))
    const clock = { ...repository.clock, now: () => Date.now() - 60_000 }
    const slow = await openRepository({ storage, password, clock })
    await slow.writing({}, ({ manifests }) => manifests.delete(id))
    await repository.refresh()
    assert.deepEqual(await repository.manifests.find({ type: 't' }), [])
  })

  it('are one when replaced', async () => {
    const repository = await open()
    for (const turn of [1, 2, 3]) {
      await repository.writing({}, ({ manifests }) => manifests.replace({ type: 'p', host: 'h' }, { turn }))
    }
    const found = await repository.manifests.find({ type: 'p' })
    assert.equal(found.length, 1)
    assert.deepEqual((await repository.manifests.get(found[0]?.id ?? manifestId(''))).payload, { turn: 3 })
  })

  it('of many flushes become few contents, and none of them is lost', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    const repository = await open(storage)
    for (let turn = 0; turn < 40; turn += 1) {
      await repository.writing({}, ({ manifests }) =>
        manifests.put({ type: 't', turn: String(turn) }, { turn }),
      )
    }
    const fresh = await open(storage)
    assert.equal((await fresh.manifests.find({ type: 't' })).length, 40)
    assert.equal((await fresh.manifests.find({ type: 'maintenance' })).length, 1)
    const contents = await Array.fromAsync(fresh.contents.entries({ prefix: 'm' }))
    assert.ok(contents.length <= 16, `there are ${contents.length} contents of manifests`)
  })

  it('need a type', async () => {
    const writing = (await open()).writing({}, ({ manifests }) => manifests.put({}, {}))
    await assert.rejects(writing, error => isRepoError(error, 'INVALID_ARGUMENT'))
  })

  it('that are damaged fail the search, or are left out and named when asked for', async () => {
    const storage = memoryStorage({ blobs: new Map(template) })
    const repository = await open(storage)
    const packs = names(storage, 'q')
    await repository.writing({}, ({ manifests }) => manifests.put({ type: 't' }, 'x'.repeat(100)))
    const [pack = ''] = names(storage, 'q').filter(name => !packs.includes(name))
    const damaged = new Uint8Array(storage.blobs.get(blobId(pack))?.bytes ?? [])
    damaged[50] = (damaged[50] ?? 0) ^ 1
    await storage.put(blobId(pack), damaged)
    await assert.rejects((await open(storage)).manifests.find({}), error => isRepoError(error, 'CORRUPT'))
    const lenient = await openRepository({ storage, password, skipDamagedManifests: true })
    assert.equal((await lenient.manifests.find({})).length, 1)
    assert.deepEqual(
      lenient.manifests.damaged.map(({ blobId: id }) => id),
      [pack],
    )
  })
})

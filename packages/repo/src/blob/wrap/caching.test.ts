import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { blobStorageConformance } from '../conformance.ts'
import { memoryStorage } from '../memory.ts'
import { type BlobStorage, blobId } from '../storage.ts'
import { caching } from './caching.ts'

const key = Buffer.from('a secret of the repository')
const pack = blobId('p27455c8fbe90a1b2c3d4e5f607182930-s1')
const metadataPack = blobId('q27455c8fbe90a1b2c3d4e5f607182930-s1')

async function temporaryFolder(test: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-cache-'))
  test.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => path.join(entry.parentPath, entry.name))
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

blobStorageConformance({
  name: 'caching',
  open: async test => {
    const inner = memoryStorage()
    const storage = caching(inner, { folder: await temporaryFolder(test), key })
    return { storage, reopen: async () => inner }
  },
})

describe('caching', () => {
  const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, n) => (n * 7 + (n >> 8)) & 0xff))
  const inThirdBlock = { offset: 140_000, length: 1000 }

  async function given(test: TestContext, limits: { metadataBytes?: number; contentBytes?: number } = {}) {
    const folder = await temporaryFolder(test)
    const inner = memoryStorage()
    const problems: unknown[] = []
    const open = (secret = key) =>
      caching(inner, { folder, key: secret, onProblem: error => problems.push(error), ...limits })
    return { folder, inner, problems, open, storage: open() }
  }

  it('gives metadata packs and data ranges without the storage once they were read', async test => {
    const { inner, open, storage, problems } = await given(test)
    for (const id of [metadataPack, pack, blobId('xn0_1-s1-c1')]) await inner.put(id, bytes)
    await storage.get(metadataPack, { offset: 5, length: 10 })
    await storage.get(pack, inThirdBlock)
    await storage.get(blobId('xn0_1-s1-c1'))
    inner.blobs.clear()
    const again = open()
    assert.deepEqual(Buffer.from(await again.get(metadataPack)), bytes)
    assert.deepEqual(
      Buffer.from(await again.get(metadataPack, inThirdBlock)),
      bytes.subarray(140_000, 141_000),
    )
    assert.deepEqual(
      Buffer.from(await again.get(metadataPack, { offset: 65_530, length: 65_550 })),
      bytes.subarray(65_530, 131_080),
    )
    assert.deepEqual(Buffer.from(await again.get(pack, inThirdBlock)), bytes.subarray(140_000, 141_000))
    assert.deepEqual(Buffer.from(await again.get(blobId('xn0_1-s1-c1'))), bytes)
    await assert.rejects(again.get(pack, { offset: 0, length: 1000 }), { code: 'BLOB_NOT_FOUND' })
    await assert.rejects(again.head(metadataPack), { code: 'BLOB_NOT_FOUND' })
    assert.deepEqual(problems, [])
  })

  it('never remembers what may change', async test => {
    const { inner, storage, folder } = await given(test)
    for (const name of ['kopia.repository', 'kopia.maintenance', 's1-s1', '_log_1']) {
      for (const body of ['old', 'new']) {
        await inner.put(blobId(name), Buffer.from(body))
        assert.equal(text(await storage.get(blobId(name))), body)
      }
    }
    assert.deepEqual(await filesIn(folder), [])
  })

  it('keeps its files from other users', async test => {
    const { inner, storage, folder } = await given(test)
    await inner.put(pack, bytes)
    await storage.get(pack, inThirdBlock)
    const [file = ''] = await filesIn(folder)
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.equal((await stat(path.dirname(file))).mode & 0o777, 0o700)
  })

  for (const [damage, change] of [
    [
      'has a flipped bit',
      (old: Buffer) => {
        old[150_000] = (old[150_000] ?? 0) ^ 1
        return old
      },
    ],
    ['was cut in a block', (old: Buffer) => old.subarray(0, 150_000)],
    ['was cut between blocks', (old: Buffer) => old.subarray(0, 65_568)],
    ['is empty', () => Buffer.alloc(0)],
    ['has more at its end', (old: Buffer) => Buffer.concat([old, Buffer.alloc(40)])],
    ['is something else', () => Buffer.from('{"not":"ours"}')],
  ] as const) {
    it(`does not use an entry that ${damage}, and replaces it`, async test => {
      const { inner, storage, folder } = await given(test)
      await inner.put(metadataPack, bytes)
      await storage.get(metadataPack)
      const [file = ''] = await filesIn(folder)
      const good = await readFile(file)
      await writeFile(file, change(Buffer.from(good)))
      assert.deepEqual(Buffer.from(await storage.get(metadataPack)), bytes)
      assert.deepEqual(await readFile(file), good)
      await writeFile(file, change(Buffer.from(good)))
      assert.deepEqual(
        Buffer.from(await storage.get(metadataPack, inThirdBlock)),
        bytes.subarray(140_000, 141_000),
      )
    })
  }

  it('uses no entry that was made for another repository or another blob', async test => {
    const { inner, storage, folder, open } = await given(test)
    const other = blobId('q00000c8fbe90a1b2c3d4e5f607182930-s1')
    await inner.put(metadataPack, Buffer.from('right'))
    await storage.get(metadataPack)
    inner.blobs.set(metadataPack, { bytes: Buffer.from('fresh'), timestamp: 0 })
    assert.equal(text(await open(Buffer.from('another secret')).get(metadataPack)), 'fresh')
    await inner.put(other, Buffer.from('other'))
    const from = path.join(folder, 'metadata', metadataPack)
    await writeFile(path.join(folder, 'metadata', other), await readFile(from))
    assert.equal(text(await storage.get(other)), 'other')
  })

  it('makes room by dropping what was not used for longest', async test => {
    const limit = 50_000
    const { inner, folder, storage, open } = await given(test, { contentBytes: limit })
    await inner.put(pack, bytes)
    const range = (n: number) => ({ offset: n * 1000, length: 1000 })
    for (let n = 0; n < 20; n++) await storage.get(pack, range(n))
    await storage[Symbol.asyncDispose]()
    for (const file of await filesIn(folder)) {
      const hour = Number(path.basename(file).split('-')[0]) / 1000
      await utimes(file, 1_700_000_000 + hour * 3600, 1_700_000_000 + hour * 3600)
    }
    const later = open()
    await later.get(pack, range(0))
    for (let n = 100; n < 180; n++) await later.get(pack, range(n))
    await later[Symbol.asyncDispose]()
    const offsets = (await filesIn(folder)).map(file => Number(path.basename(file).split('-')[0]) / 1000)
    const sizes = await Promise.all((await filesIn(folder)).map(async file => (await stat(file)).size))
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= limit)
    assert.ok(!offsets.includes(1), 'the oldest is gone')
    assert.ok(offsets.includes(179) || offsets.includes(178), 'recent ones stay')
  })

  it('serves from the storage when it cannot write or read its folder', async test => {
    const folder = path.join(await temporaryFolder(test), 'file')
    await writeFile(folder, 'in the way')
    const inner = memoryStorage()
    await inner.put(metadataPack, Buffer.from('body'))
    const problems: unknown[] = []
    const storage = caching(inner, { folder, key, onProblem: error => problems.push(error) })
    assert.equal(text(await storage.get(metadataPack)), 'body')
    assert.ok(problems.length > 0)
  })

  it('transfers a metadata pack once for all who want parts of it, also when one of them gives up', async test => {
    const inner = memoryStorage()
    await inner.put(metadataPack, bytes)
    let transfers = 0
    const { promise: gate, resolve: let_go } = Promise.withResolvers<void>()
    const counting: BlobStorage = {
      ...inner,
      async get(id, options) {
        transfers++
        await gate
        return inner.get(id, options)
      },
    }
    const storage = caching(counting, { folder: await temporaryFolder(test), key })
    const stop = new AbortController()
    const reads = [1, 2, 3].map(n =>
      storage.get(metadataPack, { offset: n, length: n, ...(n === 2 && { signal: stop.signal }) }),
    )
    stop.abort()
    await assert.rejects(reads[1] ?? Promise.resolve(), { code: 'CANCELLED' })
    let_go()
    assert.deepEqual(Buffer.from((await reads[0]) ?? []), bytes.subarray(1, 2))
    assert.deepEqual(Buffer.from((await reads[2]) ?? []), bytes.subarray(3, 6))
    assert.equal(transfers, 1)
  })

  it('can be switched off for either kind', async test => {
    const { inner, folder, storage } = await given(test, { metadataBytes: 0, contentBytes: 0 })
    for (const id of [metadataPack, pack]) await inner.put(id, bytes)
    await storage.get(metadataPack, inThirdBlock)
    await storage.get(pack, inThirdBlock)
    assert.deepEqual(await filesIn(folder), [])
  })
})

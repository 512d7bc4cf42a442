import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type MemoryStorage, memoryStorage } from './blob/memory.ts'
import { type BlobId, type BlobStorage, blobId } from './blob/storage.ts'
import type { RepoError } from './errors/repo-error.ts'
import type { ContentId } from './index-format/content-id.ts'
import { loadMaintenanceParams, saveMaintenanceParams } from './maintenance/params-manifest.ts'
import { previewMaintenance, runMaintenance } from './maintenance/run.ts'
import { createRepository, openRepository } from './repository.ts'

const password = 'p'
const keyAlgorithm = 'pbkdf2-sha256-600000'
const day = 86_400_000
const identity = 'default@default'

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-layers-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A repository with one content of metadata and one of data. */
async function givenContents(storage: MemoryStorage): Promise<ContentId[]> {
  const repository = await createRepository({ storage, password, keyAlgorithm })
  return repository.writing({}, async ({ contents }) => [
    await contents.write(Buffer.from('data'.repeat(1000))),
    await contents.write(Buffer.from('metadata'.repeat(1000)), { prefix: 'k' }),
  ])
}

/** The storage, and which blobs were read from it. */
function watched(inner: BlobStorage): { storage: BlobStorage; read: Set<string> } {
  const read = new Set<string>()
  const get: BlobStorage['get'] = (id, options) => {
    read.add(id.slice(0, 1))
    return inner.get(id, options)
  }
  return { storage: { ...inner, get }, read }
}

describe('a repository with a cache', () => {
  it('reads packs and indexes from the storage once', async t => {
    const inner = memoryStorage()
    const ids = await givenContents(inner)
    const cache = { folder: await temporaryFolder(t) }
    const reads: string[][] = []
    for (let round = 0; round < 2; round++) {
      const { storage, read } = watched(inner)
      await using repository = await openRepository({ storage, password, cache })
      for (const id of ids) await repository.contents.read(id)
      reads.push([...read].sort())
    }
    // `kopia.repository` and `kopia.blobcfg` may change and are always read.
    assert.deepEqual(reads, [['k', 'p', 'q', 'x'], ['k']])
  })

  it('shares its folder with other repositories', async t => {
    const cache = { folder: await temporaryFolder(t) }
    for (let n = 0; n < 2; n++) {
      const storage = memoryStorage()
      const ids = await givenContents(storage)
      await using repository = await openRepository({ storage, password, cache })
      for (const id of ids) await repository.contents.read(id)
    }
    assert.equal((await readdir(cache.folder)).length, 2)
  })

  it('does without where the folder cannot be used, and says so once', async t => {
    const folder = path.join(await temporaryFolder(t), 'file')
    await writeFile(folder, 'in the way')
    const storage = memoryStorage()
    const ids = await givenContents(storage)
    const told: RepoError[] = []
    await using repository = await openRepository({
      ...{ storage, password, cache: { folder } },
      onIgnoredError: error => told.push(error),
    })
    for (const id of ids) await repository.contents.read(id)
    assert.equal(told.length, 1)
    assert.match(told[0]?.message ?? '', /The cache in .* is not used: ENOTDIR/)
  })

  for (const kind of ['q', 'p', 'x']) {
    it(`takes a blob ${kind}… again when what it remembers was damaged in the storage, which is repaired by now`, async t => {
      const storage = memoryStorage()
      const ids = await givenContents(storage)
      const cache = { folder: await temporaryFolder(t) }
      const good = new Map(storage.blobs)
      const spoil = (id: BlobId) => {
        const blob = storage.blobs.get(id) ?? assert.fail(id)
        storage.blobs.set(id, { ...blob, bytes: blob.bytes.map(byte => byte ^ 1) })
      }
      for (const id of storage.blobs.keys()) if (id.startsWith(kind) && !/^x[ew]/.test(id)) spoil(id)
      const readAll = async () => {
        await using repository = await openRepository({ storage, password, cache })
        for (const id of ids) await repository.contents.read(id)
      }
      await assert.rejects(readAll(), { code: 'CORRUPT' })
      for (const [id, blob] of good) storage.blobs.set(id, blob)
      await readAll()
    })
  }
})

describe('a repository that protects its blobs', () => {
  const retention = { mode: 'COMPLIANCE', period: 10 * day } as const
  const isProtected = (id: string) => /^([pqx]|kopia\.(repository|blobcfg))/.test(id)

  async function given() {
    let time = Date.UTC(2026, 0, 1)
    const pass = (ms: number) => {
      time += ms
    }
    const clock = { now: () => time, sleep: async (ms: number) => pass(ms) }
    const storage = memoryStorage({ clock, objectLock: true })
    const options = { storage, password, clock, keyAlgorithm } as const
    const repository = await createRepository({ ...options, blobConfig: { retention } })
    return { storage, repository, clock, pass }
  }

  it('puts every blob that it needs with a retention, those of its creation too', async () => {
    const { storage, clock } = await given()
    const opened = await openRepository({ storage, password, clock })
    await opened.writing({}, ({ contents }) => contents.write(Buffer.from('data')))
    await storage.put(blobId('_log_1'), Buffer.from('log'))
    assert.ok([...storage.blobs.keys()].some(id => id.startsWith('p')))
    for (const [id, blob] of storage.blobs) {
      const expected = { mode: 'COMPLIANCE', until: blob.timestamp + retention.period }
      assert.deepEqual(blob.retention, isProtected(id) ? expected : undefined, id)
    }
  })

  it('is refused by a storage that cannot protect blobs', async () => {
    const storage = memoryStorage()
    await assert.rejects(createRepository({ storage, password, keyAlgorithm, blobConfig: { retention } }), {
      code: 'INVALID_ARGUMENT',
      message: /no object lock/,
    })
  })

  it('is protected for another period by full maintenance where the parameters ask for it', async () => {
    const { storage, repository, clock, pass } = await given()
    pass(3 * day)
    const options = { identity, mode: 'full' } as const
    const task = 'extend-blob-retention-time'
    const without = await previewMaintenance(repository, options)
    assert.equal(without?.steps.find(step => step.task === task)?.runs, false)
    const params = await loadMaintenanceParams(repository.manifests)
    await saveMaintenanceParams(repository, { ...params, extendObjectLocks: true })
    const before = new Map([...storage.blobs].map(([id, { retention: lock }]) => [id, lock?.until]))
    const planned = await previewMaintenance(repository, options)
    const [effect] = planned?.steps.find(step => step.task === task)?.effects ?? []
    assert.deepEqual([effect?.verb, effect?.count], ['extend', [...before.keys()].filter(isProtected).length])
    for (const [id, blob] of storage.blobs) assert.equal(blob.retention?.until, before.get(id))
    await runMaintenance(repository, options)
    for (const [id, blob] of storage.blobs)
      if (isProtected(id))
        assert.ok((blob.retention?.until ?? 0) >= clock.now() + retention.period - 60_000, id)
  })

  it('says which lock could not be extended, after all others were', async () => {
    const { storage, clock, pass } = await given()
    const stubborn = blobId('kopia.blobcfg')
    const refusing: BlobStorage = {
      ...storage,
      retain: (id, ...rest) =>
        id === stubborn ? Promise.reject(new Error('denied')) : storage.retain(id, ...rest),
    }
    const repository = await openRepository({ storage: refusing, password, clock })
    const params = await loadMaintenanceParams(repository.manifests)
    await saveMaintenanceParams(repository, { ...params, extendObjectLocks: true })
    pass(day)
    await assert.rejects(runMaintenance(repository, { identity, mode: 'full' }), {
      code: 'STORAGE_FAILED',
      blobId: stubborn,
      message: /1 of \d+ blobs.*kopia\.blobcfg: denied/,
    })
    const { retention: lock } = storage.blobs.get(blobId('kopia.repository')) ?? {}
    assert.equal(lock?.until, clock.now() + retention.period)
  })
})

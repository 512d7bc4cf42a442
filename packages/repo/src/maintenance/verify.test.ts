import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type MemoryStorage, memoryStorage } from '../blob/memory.ts'
import { type BlobId, blobId } from '../blob/storage.ts'
import { CommittedIndex } from '../content/committed-index.ts'
import { ContentReader } from '../content/content-reader.ts'
import { PackRanges } from '../content/pack-ranges.ts'
import { encryptBlob } from '../format/blob-crypto.ts'
import type { ContentId } from '../index-format/content-id.ts'
import { createRepository, openRepository, type Repository } from '../repository.ts'
import {
  emptyStats,
  type SnapshotManifest,
  snapshotLabels,
  snapshotPayload,
} from '../snapshot/snapshot-manifest.ts'
import { storeDirectory, storeFile } from '../snapshot/testing/store-entries.ts'
import { withRebuiltIndexes } from './rebuilt-indexes.ts'
import { verifyRepository } from './verify.ts'
import { inSample, placeProblem } from './verify-contents.ts'

let storage: MemoryStorage
let repository: Repository
const snapshots: string[] = []

/** Stores a snapshot with one file in a folder, in a session of its own. */
async function snapshot(path: string, data: string): Promise<string> {
  return repository.writing({}, async ({ manifests, objects }) => {
    const file = await storeFile(objects, 'file', { data })
    const folder = await storeDirectory(objects, 'folder', { entries: [file] })
    const rootEntry = await storeDirectory(objects, '', { entries: [folder] })
    const manifest: SnapshotManifest = {
      ...{ id: '', source: { host: 'h', userName: 'u', path }, description: '', startTime: 1n, endTime: 2n },
      ...{ stats: emptyStats(), rootEntry, tags: {}, pins: [] },
    }
    return manifests.put(snapshotLabels(manifest), snapshotPayload(manifest))
  })
}

/** Runs `look` while the blob holds other bytes. */
async function damaged<T>(
  id: BlobId,
  change: (bytes: Uint8Array) => Uint8Array,
  look: () => Promise<T>,
): Promise<T> {
  const blob = storage.blobs.get(id)
  assert.ok(blob)
  storage.blobs.set(id, { ...blob, bytes: change(Uint8Array.from(blob.bytes)) })
  try {
    return await look()
  } finally {
    storage.blobs.set(id, blob)
  }
}

function flip(at: number): (bytes: Uint8Array) => Uint8Array {
  return bytes => bytes.with(at < 0 ? bytes.length + at : at, (bytes.at(at) ?? 0) ^ 4)
}

function blobsLike(pattern: RegExp): BlobId[] {
  return [...storage.blobs.keys()].filter(id => pattern.test(id))
}

const verifyAll = () => verifyRepository(repository, { contents: 'all' })

describe('verifying', () => {
  before(async () => {
    storage = memoryStorage()
    repository = await createRepository({ storage, password: 'p' })
    snapshots.push(
      await snapshot('/one', 'first'),
      await snapshot('/two', 'second'),
      await snapshot('/three', 'first'),
    )
    await repository.refresh()
  })
  after(() => repository[Symbol.asyncDispose]())

  it('finds nothing wrong with a good repository and reads every content', async () => {
    const result = await verifyAll()
    assert.deepEqual(result.found, [])
    assert.ok(result.ok)
    assert.equal(result.snapshots, 3)
    assert.equal(result.contentsRead, result.contents)
    assert.equal(result.files, 2)
  })

  it('finds a damaged index, format, configuration blob', async () => {
    for (const id of blobsLike(/^(x|kopia\.)/)) {
      const { found } = await damaged(id, flip(-3), verifyAll)
      assert.ok(
        found.some(({ what, blobId }) => what === 'blob' && blobId === id),
        id,
      )
    }
  })

  it('finds damaged markers, sessions and logs, and passes over blobs it does not know', async () => {
    const session = encryptBlob(Buffer.from('{}'), { prefix: 's', suffix: 'session' }, repository.crypto)
    const log = encryptBlob(gzipSync('{}'), { prefix: '_log_2026_' }, repository.crypto)
    const odd = encryptBlob(Buffer.from('no json'), { prefix: 's', suffix: 'odd' }, repository.crypto)
    const text = (id: string, bytes: string) => ({ id: blobId(id), bytes: Buffer.from(bytes) })
    const good = [session, log, text('xw1', 'deletion-watermark'), text('somebody.else', 'anything')]
    const bad = [odd, text('xw2', 'deletion-watermarc'), text('udmrepo.Repository', '{"uniqueID":"AAAA"}')]
    for (const { id, bytes } of [...good, ...bad]) await storage.put(id, bytes)
    const { found } = await verifyAll()
    const hurt = await damaged(session.id, flip(-1), verifyAll)
    for (const { id } of [...good, ...bad]) await storage.delete(id)
    assert.deepEqual(
      new Set(found.map(({ what, blobId: id }) => `${what} ${id}`)),
      new Set(bad.map(({ id }) => `blob ${id}`)),
    )
    assert.ok(hurt.found.some(({ blobId: id }) => id === session.id))
  })

  it('names content, blob and every snapshot and path of a damaged file', async () => {
    const [pack] = blobsLike(/^p/)
    assert.ok(pack)
    const { found } = await damaged(pack, flip(50), verifyAll)
    const content = found.find(({ what }) => what === 'content')
    assert.equal(content?.blobId, pack)
    const files = found.filter(({ what }) => what === 'file')
    assert.deepEqual(
      new Set(files.map(({ snapshotId, path, blobId }) => `${snapshotId} ${path} ${blobId}`)),
      new Set([snapshots[0], snapshots[2]].map(id => `${id} folder/file ${pack}`)),
    )
    assert.ok(files.every(({ error }) => error.message.includes(String(content?.contentId))))
  })

  it('names snapshot and path of a damaged directory', async () => {
    const { obj } = (await repository.manifests.find({ path: '/two' })).length
      ? { obj: await folderContent(snapshots[1] ?? '') }
      : assert.fail('no snapshot')
    const entry = repository.contents.info(obj)
    assert.ok(entry)
    const { found } = await damaged(entry.packBlobId as BlobId, flip(entry.packOffset + 14), verifyAll)
    assert.deepEqual(
      found.map(({ what, path, snapshotId, contentId }) => [what, path, snapshotId, contentId]),
      [
        ['content', undefined, undefined, obj],
        ['directory', 'folder', snapshots[1], obj],
      ],
    )
  })

  it('of one snapshot looks at the contents of that snapshot only', async () => {
    const whole = await verifyAll()
    const options = { contents: 'all', snapshots: [snapshots[1] ?? ''] } as const
    const part = await verifyRepository(repository, options)
    assert.deepEqual([part.found.length, part.snapshots, part.files, part.contentsRead], [0, 1, 1, 3])
    assert.ok(whole.contentsRead > 3)
    const [pack] = blobsLike(/^p/)
    assert.ok(pack)
    assert.deepEqual((await damaged(pack, flip(50), () => verifyRepository(repository, options))).found, [])
  })

  it('finds a pack that is cut short and one that is missing', async () => {
    const [pack] = blobsLike(/^p/)
    assert.ok(pack)
    const short = await damaged(pack, bytes => bytes.subarray(0, 40), verifyAll)
    assert.match(short.found[0]?.error.message ?? '', /which has 40/)
    const blob = storage.blobs.get(pack)
    assert.ok(blob)
    storage.blobs.delete(pack)
    const missing = await verifyAll()
    storage.blobs.set(pack, blob)
    assert.equal(missing.found[0]?.error.code, 'BLOB_NOT_FOUND')
    assert.equal(missing.found.filter(({ what }) => what === 'file').length, 2)
  })

  it('finds damage in the part of a pack that only recovery needs, and calls no file harmed', async () => {
    const [pack] = blobsLike(/^p/)
    assert.ok(pack)
    const { found } = await damaged(pack, flip(-8), verifyAll)
    assert.deepEqual(
      found.map(({ what, blobId }) => [what, blobId]),
      [['blob', pack]],
    )
  })

  it('goes on when the manifests of one snapshot are damaged, and names the content that held them', async () => {
    const wide = await Array.fromAsync(repository.contents.entries({ prefix: 'm' }))
    const entry = wide.at(-1)
    assert.ok(entry)
    const fresh = await openRepository({ storage, password: 'p', skipDamagedManifests: true })
    const look = () => verifyRepository(fresh, { contents: 'none' })
    const { found, snapshots: walked } = await damaged(
      entry.packBlobId as BlobId,
      flip(entry.packOffset + 14),
      look,
    )
    assert.ok(found.some(({ what, contentId }) => what === 'manifest' && contentId === entry.contentId))
    assert.ok(walked >= 2)
  })

  it('a sample of a percentage has about that share, and another seed takes another part', () => {
    const ids = Array.from(
      { length: 4000 },
      (_, n) => ((n * 0x9e3779b1) >>> 0).toString(16).padStart(8, '0') as ContentId,
    )
    const part = (seed: number) => ids.filter(id => inSample(id, { percent: 10, seed }))
    assert.ok(part(0).length > 300 && part(0).length < 500)
    assert.equal(new Set([...part(0), ...part(0.5)]).size, part(0).length + part(0.5).length)
    assert.ok(ids.every(id => inSample(id, { percent: 100, seed: 0.3 })))
  })

  it('a content must end within its pack', () => {
    const entry = { contentId: 'aa', packBlobId: 'p1', packOffset: 10, packedLength: 20 } as Parameters<
      typeof placeProblem
    >[0]
    assert.equal(placeProblem(entry, 30), undefined)
    assert.equal(placeProblem(entry, 29)?.code, 'CORRUPT')
    assert.equal(placeProblem(entry, undefined)?.code, 'BLOB_NOT_FOUND')
  })

  it('reads nothing but directories when told, and stops when cancelled', async () => {
    assert.equal((await verifyRepository(repository, { contents: 'none' })).contentsRead, 0)
    const signal = AbortSignal.abort()
    await assert.rejects(verifyRepository(repository, { contents: 'all', signal }), { code: 'CANCELLED' })
  })

  it('a repository with a damaged index opens through the indexes in its packs', async () => {
    for (const id of blobsLike(/^xn/)) {
      await damaged(id, flip(-3), async () => {
        await assert.rejects(openRepository({ storage, password: 'p' }), { code: 'CORRUPT', blobId: id })
        const rebuilt: string[] = []
        const { crypto, clock } = repository
        const through = withRebuiltIndexes(storage, {
          crypto,
          onRebuilt: ({ blobId }) => rebuilt.push(blobId),
        })
        const index = new CommittedIndex({
          storage: through,
          crypto,
          clock,
          format: repository.format.format,
        })
        await index.refresh()
        const contents = new ContentReader({ index, codec: crypto, ranges: new PackRanges({ storage }) })
        const result = await verifyRepository(
          { ...repository, storage, crypto, contents, format: repository.format },
          { contents: 'all' },
        )
        assert.deepEqual(rebuilt, [id])
        assert.deepEqual(
          result.found.map(({ blobId }) => blobId),
          [id],
        )
        assert.equal(result.snapshots, 3)
        await assert.rejects(through.delete(id), { code: 'READ_ONLY' })
      })
    }
  })
})

/** The content of the directory `folder` of a snapshot. */
async function folderContent(id: string): Promise<ContentId> {
  const { payload } = await repository.manifests.get(id as Parameters<typeof repository.manifests.get>[0])
  const root = (payload as { rootEntry: { obj: string } }).rootEntry.obj
  const directory = JSON.parse(Buffer.from(await repository.contents.read(root as ContentId)).toString())
  return directory.entries[0].obj
}

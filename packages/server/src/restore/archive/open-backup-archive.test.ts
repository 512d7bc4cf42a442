import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { createArchive } from '../../backup/archive/create-archive.ts'
import type { GroupResource } from '../../item/item.ts'
import { itemPaths, type StoredItem } from '../../item/item-paths.ts'
import { ArchiveError } from './archive-error.ts'
import type { ArchiveLimits } from './archive-limits.ts'
import type { ArchivedItem, BackupArchive } from './backup-archive.ts'
import { openBackupArchive } from './open-backup-archive.ts'
import { rawEntry, tarEnd, tarGz, versionEntry } from './testing/raw-tar.ts'

const pods = 'pods' as GroupResource
const deployments = 'deployments.apps' as GroupResource
const namespaces = 'namespaces' as GroupResource

let scratch: string
before(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'lateen-open-archive-'))
})
after(() => rm(scratch, { recursive: true }))

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

interface OpenOptions {
  limits?: Partial<ArchiveLimits>
  size?: number
}

function open(bytes: Uint8Array, { limits = {}, size = 10_000 }: OpenOptions = {}): Promise<BackupArchive> {
  const { signal } = new AbortController()
  return openBackupArchive({ stream: inPieces(bytes, size), scratch, limits, signal })
}

function stored(item: Partial<StoredItem> & { name: string }): StoredItem {
  return { groupResource: pods, namespace: '', version: 'v1', preferred: true, ...item }
}

function objectEntries(item: StoredItem, content: string): Buffer[] {
  return itemPaths(item).map(each => rawEntry({ path: each, content }))
}

async function textOf(archive: BackupArchive, item: ArchivedItem | undefined): Promise<string> {
  assert.ok(item)
  return Buffer.from(await archive.load(item)).toString()
}

function namesOf(items: Iterable<ArchivedItem>): string[] {
  return [...items].map(({ namespace, name, version }) => [namespace, name, version].join('/'))
}

describe('An opened archive', () => {
  it('tells types, versions, namespaces and objects, and gives the body of each', async () => {
    await using archive = await open(
      tarGz(
        ...objectEntries(stored({ name: 'web', namespace: 'shop' }), 'pod web'),
        ...objectEntries(
          stored({ name: 'web', namespace: 'shop', groupResource: deployments }),
          'deployment web',
        ),
        ...objectEntries(stored({ name: 'db', namespace: 'shop' }), 'pod db'),
        ...objectEntries(stored({ name: 'db', namespace: 'bank' }), 'pod of the bank'),
        ...objectEntries(stored({ name: 'shop', groupResource: namespaces }), 'namespace shop'),
      ),
    )
    assert.equal(archive.formatVersion, '1.1.0')
    assert.equal(archive.count, 5)
    assert.deepEqual(archive.namespaces, ['bank', 'shop'])
    assert.deepEqual(archive.types, [
      { groupResource: deployments, count: 1, versions: [{ version: 'v1', preferred: true }] },
      { groupResource: namespaces, count: 1, versions: [{ version: 'v1', preferred: true }] },
      { groupResource: pods, count: 3, versions: [{ version: 'v1', preferred: true }] },
    ])
    assert.deepEqual(namesOf(archive.items(pods)), ['bank/db/', 'shop/db/', 'shop/web/'])
    const texts = await Promise.all([...archive.items(pods)].map(item => textOf(archive, item)))
    assert.deepEqual(texts, ['pod of the bank', 'pod db', 'pod web'])
    const found = archive.find({ groupResource: namespaces, namespace: '', name: 'shop' })
    assert.equal(await textOf(archive, found), 'namespace shop')
    assert.equal(archive.find({ groupResource: pods, namespace: 'shop', name: 'gone' }), undefined)
    assert.equal(archive.find({ groupResource: pods, namespace: '', name: 'web' }), undefined)
  })

  it('sorts as files are sorted: by the bytes of the name with its extension', async () => {
    const names = ['a', 'a-b', 'a.b', 'a1', 'a:b', 'b', 'a.json', 'a.k']
    const entries = names.flatMap(name => objectEntries(stored({ name }), name))
    await using archive = await open(tarGz(...entries))
    const files = names
      .map(name => `${name}.json`)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    assert.deepEqual(
      [...archive.items(pods)].map(({ name }) => `${name}.json`),
      files,
    )
  })

  it('gives objects in the version that is asked for, and else in the preferred one', async () => {
    await using archive = await open(
      tarGz(
        ...objectEntries(stored({ name: 'a', version: 'v2' }), 'a in v2'),
        ...objectEntries(stored({ name: 'a', version: 'v1', preferred: false }), 'a in v1'),
        ...objectEntries(stored({ name: 'b', version: 'v2' }), 'b in v2'),
        ...objectEntries(stored({ name: 'c', version: 'v2' }), 'c in v2'),
        ...objectEntries(stored({ name: 'c', version: 'v1', preferred: false }), 'c in v1'),
      ),
    )
    assert.deepEqual(archive.types, [
      {
        groupResource: pods,
        count: 3,
        versions: [
          { version: 'v1', preferred: false },
          { version: 'v2', preferred: true },
        ],
      },
    ])
    const read = async (version?: string) => {
      const items = [...archive.items(pods, version)]
      return Promise.all(items.map(async item => `${item.version}: ${await textOf(archive, item)}`))
    }
    assert.deepEqual(await read(), [': a in v2', ': b in v2', ': c in v2'])
    assert.deepEqual(await read('v1'), ['v1: a in v1', ': b in v2', 'v1: c in v1'])
    assert.deepEqual(await read('v2'), ['v2: a in v2', 'v2: b in v2', 'v2: c in v2'])
    assert.deepEqual(await read('v3'), [': a in v2', ': b in v2', ': c in v2'])
  })

  it('keeps two bodies where the versioned one differs', async () => {
    const [plain, versioned] = itemPaths(stored({ name: 'a' }))
    await using archive = await open(
      tarGz(rawEntry({ path: plain!, content: '1' }), rawEntry({ path: versioned!, content: '2' })),
    )
    assert.equal(archive.count, 1)
    assert.equal(await textOf(archive, [...archive.items(pods)][0]), '1')
    assert.equal(await textOf(archive, [...archive.items(pods, 'v1')][0]), '2')
  })

  it('reads archives from before there were folders of versions, and such as tar makes of a folder', async () => {
    const bytes = gzipSync(
      Buffer.concat([
        rawEntry({ path: './', flag: '5' }),
        rawEntry({ path: './resources/', flag: '5' }),
        rawEntry({ path: './resources/pods/namespaces/shop/web.json', content: '{}' }),
        rawEntry({ path: './metadata/version', content: '1' }),
        tarEnd,
      ]),
    )
    await using archive = await open(bytes)
    assert.equal(archive.formatVersion, '1')
    assert.deepEqual(archive.types, [{ groupResource: pods, count: 1, versions: [] }])
    assert.deepEqual(namesOf(archive.items(pods, 'v1')), ['shop/web/'])
  })

  it('may have several gzip members', async () => {
    const [item] = objectEntries(stored({ name: 'a' }), '{}')
    const bytes = Buffer.concat([gzipSync(versionEntry), gzipSync(item!), gzipSync(tarEnd)])
    await using archive = await open(bytes, { size: 7 })
    assert.equal(archive.count, 1)
  })

  it('may be empty, and may have entries that are no objects', async () => {
    await using empty = await open(tarGz())
    assert.equal(empty.count, 0)
    assert.deepEqual(empty.types, [])
    const others = Array.from({ length: 30 }, (_, number) =>
      rawEntry({ path: `notes/${number}`, content: 'x' }),
    )
    await using archive = await open(tarGz(...others))
    assert.equal(archive.ignored.count, 30)
    assert.equal(archive.ignored.examples[0], 'notes/0')
    assert.ok(archive.ignored.examples.length < 30)
  })

  it('holds what our own writer wrote, whatever the objects', async () => {
    const name = fc.stringMatching(/^[a-z0-9:.-]{1,200}$/)
    const object = fc.record({
      groupResource: fc.constantFrom(pods, deployments),
      namespace: fc.constantFrom('', 'shop', 'cluster'),
      name,
      content: fc.oneof(
        { weight: 9, arbitrary: fc.string({ maxLength: 3000 }) },
        fc.integer({ min: 1, max: 3 }).map(many => 'x'.repeat(many * 700_000)),
      ),
    })
    const objects = fc.uniqueArray(object, {
      maxLength: 20,
      selector: each => `${each.groupResource}/${each.namespace}/${each.name}`,
    })
    const folder = path.join(scratch, 'written')
    await fc.assert(
      fc.asyncProperty(objects, async all => {
        await mkdir(folder, { recursive: true })
        const { signal } = new AbortController()
        await using writer = await createArchive({ scratch: folder, modified: 0, signal })
        for (const each of all) {
          for (const entry of itemPaths(stored(each))) await writer.add(entry, Buffer.from(each.content))
        }
        const { open: read } = await writer.finish()
        await using archive = await openBackupArchive({ stream: read(), scratch, signal })
        assert.equal(archive.count, all.length)
        for (const each of all) assert.equal(await textOf(archive, archive.find(each)), each.content)
      }),
      { numRuns: 25 },
    )
    await rm(folder, { recursive: true })
  })

  it('leaves nothing in scratch when it is closed, and when it could not be opened', async () => {
    {
      await using archive = await open(tarGz(...objectEntries(stored({ name: 'a' }), 'x'.repeat(500_000))))
      assert.equal(archive.count, 1)
      assert.notDeepEqual(await readdir(scratch), [])
    }
    assert.deepEqual(await readdir(scratch), [])
    await assert.rejects(open(Buffer.from('no gzip')))
    assert.deepEqual(await readdir(scratch), [])
  })
})

describe('openBackupArchive refuses', () => {
  const entry = rawEntry({ path: 'resources/pods/cluster/a.json', content: '{}' })
  const whole = tarGz(entry)
  const copies = objectEntries(stored({ name: 'a' }), '{}')
  const cases: Record<
    string,
    { bytes: Uint8Array; code: string; limits?: Partial<ArchiveLimits>; about?: RegExp }
  > = {
    'what is not compressed': { bytes: Buffer.concat([versionEntry, tarEnd]), code: 'ARCHIVE_NOT_GZIP' },
    nothing: { bytes: Buffer.alloc(0), code: 'ARCHIVE_TRUNCATED' },
    'half a gzip stream': { bytes: whole.subarray(0, whole.length / 2), code: 'ARCHIVE_TRUNCATED' },
    'a gzip stream without its last byte': { bytes: whole.subarray(0, -1), code: 'ARCHIVE_TRUNCATED' },
    'a gzip stream with a wrong sum': {
      bytes: Buffer.concat([whole.subarray(0, -8), Buffer.alloc(4), whole.subarray(-4)]),
      code: 'ARCHIVE_DAMAGED',
    },
    'a whole gzip stream of half an archive': {
      bytes: gzipSync(Buffer.concat([versionEntry, entry.subarray(0, 513)])),
      code: 'ARCHIVE_TRUNCATED',
    },
    'what is no tar': { bytes: gzipSync(Buffer.alloc(2000, 'text ')), code: 'ARCHIVE_DAMAGED' },
    'what is no backup': {
      bytes: gzipSync(Buffer.concat([entry, tarEnd])),
      code: 'ARCHIVE_NOT_BACKUP',
      about: /metadata\/version/,
    },
    'a backup without the text of its version': {
      bytes: gzipSync(Buffer.concat([rawEntry({ path: 'metadata/version', content: '\n' }), tarEnd])),
      code: 'ARCHIVE_NOT_BACKUP',
    },
    'two versions': { bytes: tarGz(versionEntry), code: 'ARCHIVE_DUPLICATE' },
    'a path that leads out': { bytes: tarGz(rawEntry({ path: 'resources/../../x' })), code: 'ARCHIVE_PATH' },
    'an absolute path': { bytes: tarGz(rawEntry({ path: '/resources/x' })), code: 'ARCHIVE_PATH' },
    'a folder that leads out': { bytes: tarGz(rawEntry({ path: '../', flag: '5' })), code: 'ARCHIVE_PATH' },
    'a link': { bytes: tarGz(rawEntry({ path: 'resources/x', flag: '2' })), code: 'ARCHIVE_ENTRY_TYPE' },
    'an object that comes twice': {
      bytes: tarGz(entry, rawEntry({ path: './resources//pods/cluster/a.json', content: '{"b":1}' })),
      code: 'ARCHIVE_DUPLICATE',
      about: /"pods\/a" twice/,
    },
    'the same object twice with the same body': {
      bytes: tarGz(...copies, ...copies),
      code: 'ARCHIVE_DUPLICATE',
    },
    'a version of an object that comes twice': {
      bytes: tarGz(...copies, rawEntry({ path: itemPaths(stored({ name: 'a' }))[1]!, content: '{"b":1}' })),
      code: 'ARCHIVE_DUPLICATE',
      about: /"pods\/v1\/a" twice/,
    },
    'an entry that is too large': {
      bytes: tarGz(rawEntry({ path: 'x', content: 'y'.repeat(20) })),
      limits: { entryBytes: 10 },
      code: 'ARCHIVE_TOO_LARGE',
      about: /"x" has 20 bytes, more than 10/,
    },
    'an entry that says it is too large': {
      bytes: tarGz(rawEntry({ path: 'x', size: 8 ** 11 - 1 })),
      code: 'ARCHIVE_TOO_LARGE',
    },
    'too many entries': { bytes: tarGz(entry), limits: { entries: 1 }, code: 'ARCHIVE_TOO_LARGE' },
    'a path that is too long': { bytes: tarGz(entry), limits: { pathBytes: 20 }, code: 'ARCHIVE_TOO_LARGE' },
    'a path that is too deep': { bytes: tarGz(entry), limits: { pathDepth: 3 }, code: 'ARCHIVE_TOO_LARGE' },
    'too many names': {
      bytes: tarGz(
        ...objectEntries(stored({ name: 'a'.repeat(50) }), '1'),
        ...objectEntries(stored({ name: 'b' }), '2'),
      ),
      limits: { catalogueBytes: 40 },
      code: 'ARCHIVE_TOO_LARGE',
    },
    'too many bytes': { bytes: tarGz(entry), limits: { decompressedBytes: 1000 }, code: 'ARCHIVE_TOO_LARGE' },
    'a bomb': {
      bytes: tarGz(rawEntry({ path: 'x', content: Buffer.alloc(3_000_000) })),
      limits: { ratio: 500, ratioFrom: 1_000_000 },
      code: 'ARCHIVE_BOMB',
    },
  }
  for (const [what, { bytes, code, limits = {}, about = /./ }] of Object.entries(cases)) {
    it(what, async () => {
      await assert.rejects(open(bytes, { limits }), { name: 'ArchiveError', code, message: about, hint: /./ })
      assert.deepEqual(await readdir(scratch), [])
    })
  }

  it('any damage that matters, in one error of its own', async () => {
    const objects = ['a', 'b', 'c'].flatMap(name => objectEntries(stored({ name }), `{"name":"${name}"}`))
    const tar = Buffer.concat([versionEntry, ...objects, tarEnd])
    const archives = [tar, gzipSync(tar)] as const
    const change = fc.record({
      compressed: fc.boolean(),
      at: fc.double({ min: 0, max: 0.999, noNaN: true }),
      what: fc.constantFrom('flip', 'cut', 'insert', 'remove'),
      byte: fc.integer({ min: 1, max: 255 }),
    })
    await fc.assert(
      fc.asyncProperty(change, async ({ compressed, at, what, byte }) => {
        const source = archives[compressed ? 1 : 0]
        const place = Math.floor(at * source.length)
        const damaged = mutated(source, { place, what, byte })
        const bytes = compressed ? damaged : gzipSync(damaged)
        const found = await bodiesOf(bytes)
        if (found instanceof Error) assert.ok(found instanceof ArchiveError, found.message)
        // Sums protect what is compressed; a change that passes is one of the header, which says nothing.
        else if (compressed) assert.deepEqual(found, ['{"name":"a"}', '{"name":"b"}', '{"name":"c"}'])
        assert.deepEqual(await readdir(scratch), [])
      }),
      { numRuns: 300 },
    )
  })

  it('nothing that its stream does not say: an interrupted download is the error that it is', async () => {
    const failure = new Error('the connection broke')
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield whole.subarray(0, 20)
      throw failure
    }
    const { signal } = new AbortController()
    await assert.rejects(openBackupArchive({ stream: broken(), scratch, signal }), failure)
    assert.deepEqual(await readdir(scratch), [])
  })

  it('to go on when it is told to stop', async () => {
    const abort = new AbortController()
    const reason = new Error('stopped')
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield whole.subarray(0, 20)
      abort.abort(reason)
      await new Promise(() => undefined)
    }
    await assert.rejects(openBackupArchive({ stream: endless(), scratch, signal: abort.signal }), reason)
    assert.deepEqual(await readdir(scratch), [])
  })
})

/** The bodies of all objects of an archive, or why they cannot be read. */
async function bodiesOf(bytes: Uint8Array): Promise<string[] | Error> {
  try {
    await using archive = await open(bytes)
    const items = archive.types.flatMap(({ groupResource }) => [...archive.items(groupResource)])
    return await Promise.all(items.map(item => textOf(archive, item)))
  } catch (error) {
    return error as Error
  }
}

interface Mutation {
  place: number
  what: string
  byte: number
}

function mutated(bytes: Buffer, { place, what, byte }: Mutation): Buffer {
  const before = bytes.subarray(0, place)
  switch (what) {
    case 'cut':
      return before
    case 'insert':
      return Buffer.concat([before, Buffer.of(byte), bytes.subarray(place)])
    case 'remove':
      return Buffer.concat([before, bytes.subarray(place + 1)])
    default:
      return Buffer.concat([before, Buffer.of((bytes[place] as number) ^ byte), bytes.subarray(place + 1)])
  }
}

import assert from 'node:assert/strict'
import {
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { blobStorageConformance } from './conformance.ts'
import { openFilesystemStorage } from './filesystem.ts'
import { filesystemError } from './filesystem-error.ts'
import { type BlobStorage, blobId } from './storage.ts'

const pack = blobId('pf27455c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66')
const index = blobId('xn0_743d5b1a0f2e4c6d8b9a7f6e5d4c3b2a-s0123456789abcdef-c1')
const format = blobId('kopia.repository')

async function temporaryFolder(test: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'lateen-blob-')))
  test.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function layOut(root: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true })
    await writeFile(path.join(root, name), text)
  }
}

async function filesIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => !entry.isDirectory())
  return files.map(entry => path.relative(root, path.join(entry.parentPath, entry.name))).sort(compare)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : 1
}

async function idsIn(storage: BlobStorage, prefix = ''): Promise<string[]> {
  return (await Array.fromAsync(storage.list(prefix), blob => blob.id as string)).sort(compare)
}

for (const shards of [undefined, [3, 3], [2], []]) {
  blobStorageConformance({
    name: `filesystem with shards ${JSON.stringify(shards ?? 'by default')}`,
    open: async test => {
      const folder = path.join(await temporaryFolder(test), 'deep', 'repository')
      const storage = await openFilesystemStorage({ path: folder, create: true, shards })
      return { storage, reopen: () => openFilesystemStorage({ path: folder }) }
    },
  })
}

blobStorageConformance({
  name: 'filesystem without syncing',
  open: async test => {
    const folder = await temporaryFolder(test)
    const storage = await openFilesystemStorage({ path: folder, durable: false })
    return { storage, reopen: () => openFilesystemStorage({ path: folder, durable: false }) }
  },
})

describe('a filesystem repository', () => {
  it('is laid out as Kopia lays out a new one', async test => {
    const root = path.join(await temporaryFolder(test), 'repo')
    await using storage = await openFilesystemStorage({ path: root, create: true })
    assert.equal(
      await readFile(path.join(root, '.shards'), 'utf8'),
      '{"default":[1,3],"maxNonShardedLength":20}\n',
    )
    for (const id of [pack, index, format]) await storage.put(id, Buffer.from(id))
    assert.deepEqual(await filesIn(root), [
      '.shards',
      'kopia.repository.f',
      'p/f27/455c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66.f',
      'x/n0_/743d5b1a0f2e4c6d8b9a7f6e5d4c3b2a-s0123456789abcdef-c1.f',
    ])
    const modeOf = async (name: string) => (await stat(path.join(root, name))).mode & 0o777
    assert.deepEqual(await Promise.all(['', 'p', 'p/f27'].map(modeOf)), [0o700, 0o700, 0o700])
    assert.deepEqual(await Promise.all(['.shards', 'kopia.repository.f'].map(modeOf)), [0o600, 0o600])
  })

  it('is read as Kopia laid it out, whatever else lies there', async test => {
    const root = await temporaryFolder(test)
    await layOut(root, {
      '.shards': '{"default":[3,3],"maxNonShardedLength":10,"overrides":[{"prefix":"x","shards":[2]}]}\n',
      'xe0.f': 'epoch-marker',
      'kop/ia./repository.f': 'format',
      'pf2/745/5c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66.f': 'pack',
      'xn/0_743d5b1a0f2e4c6d8b9a7f6e5d4c3b2a-s0123456789abcdef-c1.f': 'index',
      'pf2/745/5c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd67.f.tmp.0123456789abcdef': 'half',
      'README.txt': 'not ours',
      'not a blob.f': 'not ours',
      'lost+found/x': 'not ours',
    })
    const when = new Date('2024-05-06T07:08:09.500Z')
    await utimes(path.join(root, 'xe0.f'), when, when)
    await using storage = await openFilesystemStorage({ path: root })
    assert.deepEqual(await idsIn(storage), [format, pack, 'xe0', index].sort(compare))
    assert.deepEqual(await idsIn(storage, 'x'), ['xe0', index])
    for (const [id, text] of [
      [format, 'format'],
      [pack, 'pack'],
      [index, 'index'],
    ] as const) {
      assert.equal(Buffer.from(await storage.get(id)).toString(), text)
    }
    assert.deepEqual(await storage.head(blobId('xe0')), { id: 'xe0', length: 12, timestamp: when.getTime() })
    await storage.put(pack, Buffer.from('new'))
    assert.equal(
      await readFile(path.join(root, 'pf2/745/5c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66.f'), 'utf8'),
      'new',
    )
  })

  for (const [shards, file] of [
    [[1, 3], 'p/f27/455c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66.f'],
    [[3, 3], 'pf2/745/5c8fbe90a1b2c3d4e5f60718293-saa33bb44cc55dd66.f'],
    [[], `${pack}.f`],
  ] as const) {
    it(`finds out that its layout is ${JSON.stringify(shards)} when nothing says so, and says so then`, async test => {
      const root = await temporaryFolder(test)
      await layOut(root, { 'kopia.repository.f': 'format', [file]: 'pack' })
      await using storage = await openFilesystemStorage({ path: root })
      assert.equal(Buffer.from(await storage.get(pack)).toString(), 'pack')
      const expected = `{"default":${JSON.stringify(shards)},"maxNonShardedLength":20}\n`
      assert.equal(await readFile(path.join(root, '.shards'), 'utf8'), expected)
    })
  }

  it('gets the layout that Kopia assumes when blobs are there and none tells', async test => {
    const root = await temporaryFolder(test)
    await layOut(root, { 'kopia.repository.f': 'format' })
    await using _storage = await openFilesystemStorage({ path: root })
    assert.equal(
      await readFile(path.join(root, '.shards'), 'utf8'),
      '{"default":[3,3],"maxNonShardedLength":20}\n',
    )
  })

  it('is refused when its layout is lost and cannot be found out', async test => {
    const root = await temporaryFolder(test)
    await layOut(root, { [`p/f27/${pack.slice(4)}.f`]: 'a', [`${pack.slice(0, 3)}/${pack.slice(3)}.f`]: 'b' })
    await assert.rejects(openFilesystemStorage({ path: root }), {
      code: 'CORRUPT',
      message: /no single layout/,
    })
    await writeFile(path.join(root, '.shards'), '{"default":')
    await assert.rejects(openFilesystemStorage({ path: root }), {
      code: 'CORRUPT',
      path: path.join(root, '.shards'),
    })
  })

  it('leaves an empty folder as it is until the first blob comes', async test => {
    const root = await temporaryFolder(test)
    await using first = await openFilesystemStorage({ path: root })
    await using second = await openFilesystemStorage({ path: root, shards: [2] })
    assert.deepEqual(await idsIn(first), [])
    assert.deepEqual(await readdir(root), [])
    await Promise.all([first.put(pack, Buffer.from('1')), first.put(index, Buffer.from('2'))])
    await second.put(format, Buffer.from('3'))
    await second.put(blobId(`q${pack.slice(1)}`), Buffer.from('4'))
    assert.equal(
      await readFile(path.join(root, '.shards'), 'utf8'),
      '{"default":[1,3],"maxNonShardedLength":20}\n',
    )
    assert.equal((await idsIn(first)).length, 4)
    assert.equal(Buffer.from(await second.get(pack)).toString(), '1')
  })

  it('says that there is none where the folder is missing or is a file', async test => {
    const root = await temporaryFolder(test)
    await writeFile(path.join(root, 'file'), '')
    for (const name of ['missing', 'file']) {
      await assert.rejects(openFilesystemStorage({ path: path.join(root, name) }), {
        code: 'NOT_A_REPOSITORY',
      })
    }
  })

  it('is not taken for an empty one when the disk is unmounted under it', async test => {
    const root = path.join(await temporaryFolder(test), 'repo')
    await using storage = await openFilesystemStorage({ path: root, create: true })
    await storage.put(pack, Buffer.from('1'))
    await rename(root, `${root}-away`)
    await mkdir(root)
    await assert.rejects(storage.get(pack), { code: 'STORAGE_FAILED' })
    await assert.rejects(storage.get(format), { code: 'STORAGE_FAILED' })
    await assert.rejects(storage.delete(pack), { code: 'STORAGE_FAILED' })
    await assert.rejects(idsIn(storage), { code: 'STORAGE_FAILED' })
    for (const id of [pack, index, format]) {
      await assert.rejects(storage.put(id, Buffer.from('2')), { code: 'STORAGE_FAILED' })
    }
    assert.deepEqual(await readdir(root), [])
    await rm(root, { recursive: true })
    await rename(`${root}-away`, root)
    assert.equal(Buffer.from(await storage.get(pack)).toString(), '1')
  })

  it('goes on when a folder in it was removed', async test => {
    const root = await temporaryFolder(test)
    await using storage = await openFilesystemStorage({ path: root })
    await storage.put(pack, Buffer.from('1'))
    await rm(path.join(root, 'p'), { recursive: true })
    await assert.rejects(storage.get(pack), { code: 'BLOB_NOT_FOUND' })
    await storage.put(pack, Buffer.from('2'))
    await rm(path.join(root, 'p'), { recursive: true })
    await storage.put(pack, Buffer.from('3'))
    assert.equal(Buffer.from(await storage.get(pack)).toString(), '3')
  })

  it('never leaves its root by a link', async test => {
    const outside = await temporaryFolder(test)
    const root = await temporaryFolder(test)
    await layOut(outside, { [`f27/${pack.slice(4)}.f`]: 'secret', 'kopia.repository.f': 'secret' })
    await layOut(root, { '.shards': '{"default":[1,3],"maxNonShardedLength":20}\n' })
    await symlink(outside, path.join(root, 'p'))
    await symlink(path.join(outside, 'kopia.repository.f'), path.join(root, 'kopia.repository.f'))
    await using storage = await openFilesystemStorage({ path: root })
    assert.deepEqual(await idsIn(storage), [])
    await assert.rejects(storage.get(pack), { code: 'STORAGE_FAILED', message: /symbolic link/ })
    await assert.rejects(storage.put(pack, Buffer.from('x')), { code: 'STORAGE_FAILED' })
    await assert.rejects(storage.delete(pack), { code: 'STORAGE_FAILED' })
    await assert.rejects(storage.get(format), { code: 'STORAGE_FAILED' })
    await storage.put(format, Buffer.from('ours'))
    assert.equal(await readFile(path.join(outside, 'kopia.repository.f'), 'utf8'), 'secret')
    assert.equal(Buffer.from(await storage.get(format)).toString(), 'ours')
  })

  it('may itself be reached by a link', async test => {
    const root = await temporaryFolder(test)
    await mkdir(path.join(root, 'real'))
    await symlink('real', path.join(root, 'link'))
    await using storage = await openFilesystemStorage({ path: path.join(root, 'link') })
    await storage.put(format, Buffer.from('x'))
    assert.ok((await filesIn(path.join(root, 'real'))).includes('kopia.repository.f'))
  })

  it('leaves no temporary file behind a put that failed or was cancelled', async test => {
    const root = await temporaryFolder(test)
    await using storage = await openFilesystemStorage({ path: root })
    await mkdir(path.join(root, 'p/f27', `${pack.slice(4)}.f`, 'in-the-way'), { recursive: true })
    await layOut(root, { '.shards': '{"default":[1,3],"maxNonShardedLength":20}\n' })
    await assert.rejects(storage.put(pack, Buffer.from('x')), { code: 'STORAGE_FAILED', blobId: pack })
    const stop = new AbortController()
    const cancelled = storage.put(index, new Uint8Array(10), { signal: stop.signal })
    stop.abort()
    await assert.rejects(cancelled, { code: 'CANCELLED' })
    assert.deepEqual(await filesIn(root), ['.shards'])
  })

  it("stays its owner's where root writes into it", { skip: process.getuid?.() !== 0 }, async test => {
    const folder = await temporaryFolder(test)
    await chown(folder, 1234, 2345)
    await using storage = await openFilesystemStorage({ path: folder })
    await storage.put(pack, Buffer.from('data'))
    const all = await readdir(folder, { recursive: true })
    const owners = await Promise.all(all.map(async name => stat(path.join(folder, name))))
    // A pack, the folders it is in, and the file that says the layout.
    assert.ok(all.length >= 3, all.join(' '))
    assert.deepEqual(new Set(owners.map(({ uid, gid }) => `${uid}:${gid}`)), new Set(['1234:2345']))
  })

  it('cannot protect blobs from deletion and says so', async test => {
    await using storage = await openFilesystemStorage({ path: await temporaryFolder(test) })
    const retention = { mode: 'GOVERNANCE', until: 4e12 } as const
    await assert.rejects(storage.put(pack, Buffer.from('x'), { retention }), { code: 'INVALID_ARGUMENT' })
  })
})

describe('errors of the operating system', () => {
  const reading = { doing: 'read blob p1', path: '/repo/p1.f', writing: false, blobId: 'p1' }
  const writing = { ...reading, doing: 'write blob p1', writing: true }
  const refused = (code: string) => Object.assign(new Error(`${code}: no`), { code })

  for (const [errno, operation, code, retryable] of [
    ['ENOSPC', writing, 'STORAGE_FULL', false],
    ['EDQUOT', writing, 'STORAGE_FULL', false],
    ['EROFS', writing, 'READ_ONLY', false],
    ['EACCES', writing, 'READ_ONLY', false],
    ['EACCES', reading, 'STORAGE_FAILED', false],
    ['EPERM', reading, 'STORAGE_FAILED', false],
    ['EIO', reading, 'STORAGE_FAILED', true],
    ['ESTALE', reading, 'STORAGE_FAILED', true],
    ['EMFILE', reading, 'STORAGE_FAILED', true],
  ] as const) {
    it(`${errno} while trying to ${operation.doing} is ${code}`, () => {
      const cause = refused(errno)
      const error = filesystemError(cause, operation)
      assert.equal(error.code, code)
      assert.equal(error.retryable, retryable)
      assert.equal(error.cause, cause)
      assert.match(error.message, /p1 \(\/repo\/p1\.f\): \S/)
      assert.ok(error.hint)
    })
  }
})

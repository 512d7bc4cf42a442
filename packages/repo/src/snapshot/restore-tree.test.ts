import assert from 'node:assert/strict'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import { createRepository, type Repository } from '../repository.ts'
import { ContainedFolder } from './contained-folder.ts'
import type { DirectoryEntry } from './directory.ts'
import { roundingSetter, timeSetter } from './exact-times.ts'
import { findEntry } from './find-entry.ts'
import { removeContained } from './remove-contained.ts'
import { restoreDevice } from './restore-device.ts'
import { type RestoreTreeOptions, restoreTree } from './restore-tree.ts'
import { type EntryStore, storeDirectory, storeFile, storeSymlink } from './testing/store-entries.ts'

// Trees of thousands of levels are made and removed; in memory that takes a fraction of the time.
const scratch = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const base = mkdtempSync(path.join(scratch, 'lateen-restore-'))
const target = path.join(base, 'target')
const outside = path.join(base, 'outside')
const me = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
let repository: Repository

/** Builds a tree with a writer of its own. */
function build(make: (store: EntryStore) => Promise<DirectoryEntry>): Promise<DirectoryEntry> {
  return repository.writing({}, ({ objects }) => make(objects))
}

function restore(entry: DirectoryEntry, options: Partial<RestoreTreeOptions> = {}) {
  return restoreTree({ contents: repository.contents, entry, target, ...options })
}

function folderOf(names: string[]) {
  return build(async store =>
    storeDirectory(store, '', {
      ...me,
      entries: await Promise.all(
        names.map(name => storeFile(store, name, { data: `content of ${name}`, ...me })),
      ),
    }),
  )
}

describe('restoring a tree', () => {
  before(async () => {
    repository = await createRepository({ storage: memoryStorage(), password: 'p' })
  })
  beforeEach(() => {
    rmSync(base, { recursive: true, force: true })
    mkdirSync(outside, { recursive: true })
    writeFileSync(path.join(outside, 'precious'), 'kept')
  })
  after(async () => {
    rmSync(base, { recursive: true, force: true })
    await repository[Symbol.asyncDispose]()
  })

  it('gives files, folders and symlinks their bytes, modes and times', async () => {
    const times = { a: -1n, link: 1_234_567_890_987_654_321n, sub: 1_600_000_000_000_000_001n, root: 42n }
    const root = await build(async store => {
      const file = await storeFile(store, 'a', {
        data: 'hello',
        mode: 0o640 | (1 << 23),
        mtime: times.a,
        ...me,
      })
      const link = await storeSymlink(store, 'link', { target: 'nowhere/at all', mtime: times.link, ...me })
      const sub = await storeDirectory(store, 'sub', {
        entries: [file],
        mode: 0o700 | (1 << 20),
        mtime: times.sub,
        ...me,
      })
      return storeDirectory(store, '', { entries: [sub, file, link], mode: 0o555, mtime: times.root, ...me })
    })
    const result = await restore(root)
    assert.deepEqual(result.problems, [])
    const seen = (name: string) => lstatSync(path.join(target, name), { bigint: true })
    assert.equal(readFileSync(path.join(target, 'sub/a'), 'utf8'), 'hello')
    assert.equal(readlinkSync(path.join(target, 'link')), 'nowhere/at all')
    assert.equal(Number(seen('a').mode) & 0o7777, 0o4640)
    assert.equal(Number(seen('sub').mode) & 0o7777, 0o1700)
    assert.equal(Number(seen('.').mode) & 0o7777, 0o555)
    if (timeSetter().exact) {
      const read = {
        a: seen('a').mtimeNs,
        link: seen('link').mtimeNs,
        sub: seen('sub').mtimeNs,
        root: seen('.').mtimeNs,
      }
      assert.deepEqual(read, times)
    }
    assert.deepEqual(
      { files: result.files, folders: result.folders, symlinks: result.symlinks, bytes: result.bytes },
      { files: 2, folders: 2, symlinks: 1, bytes: 10 },
    )
  })

  it('says when times are rounded', async () => {
    const { notes } = await restore(await folderOf(['a']), { timeSetter: roundingSetter })
    assert.match(notes.join(), /times are rounded/)
  })

  it('restores a subtree, a single file and a single symlink', async () => {
    const root = await build(async store => {
      const file = await storeFile(store, 'f', { data: 'x', ...me })
      const link = await storeSymlink(store, 'l', { target: '/etc', ...me })
      const sub = await storeDirectory(store, 'sub', { entries: [file, link], ...me })
      return storeDirectory(store, '', { entries: [sub], ...me })
    })
    const { contents } = repository
    await restore(await findEntry(contents, root, { path: 'sub' }), { sync: true })
    assert.deepEqual(readdirSync(target).sort(), ['f', 'l'])
    await restore(await findEntry(contents, root, { path: '/sub/f' }), {
      target: path.join(base, 'new/one'),
      sync: true,
    })
    assert.equal(readFileSync(path.join(base, 'new/one'), 'utf8'), 'x')
    await restore(await findEntry(contents, root, { path: 'sub/l' }), { target: path.join(base, 'alias') })
    assert.equal(readlinkSync(path.join(base, 'alias')), '/etc')
    await assert.rejects(findEntry(contents, root, { path: 'sub/f/g' }), {
      code: 'OBJECT_NOT_FOUND',
      path: 'sub/f/g',
    })
  })

  describe('from a hostile snapshot', () => {
    for (const name of [
      '..',
      '.',
      '',
      '/',
      '../outside/planted',
      '/tmp/planted',
      'a/../../planted',
      'nul\0byte',
    ]) {
      it(`refuses the name ${JSON.stringify(name)} and restores the rest`, async () => {
        const root = await build(async store => {
          const file = (called: string) => storeFile(store, called, { data: 'x', ...me })
          const folder = await storeDirectory(store, name, { entries: [await file('inner')], ...me })
          return storeDirectory(store, '', { entries: [folder, await file(name), await file('good')], ...me })
        })
        const result = await restore(root)
        assert.equal(result.failed, 2)
        assert.ok(result.problems.every(({ error }) => error.code === 'UNSAFE_PATH'))
        assert.deepEqual(readdirSync(target), ['good'])
        assert.deepEqual(readdirSync(base).sort(), ['outside', 'target'])
        assert.deepEqual(readdirSync(outside), ['precious'])
      })
    }

    for (const kinds of ['link first', 'folder first']) {
      it(`never writes through a symlink that shares its name with a folder: ${kinds}`, async () => {
        const root = await build(async store => {
          const link = await storeSymlink(store, 'x', { target: outside, ...me })
          const planted = await storeFile(store, 'precious', { data: 'planted', ...me })
          const folder = await storeDirectory(store, 'x', { entries: [planted], ...me })
          const entries = kinds === 'link first' ? [link, folder] : [folder, link]
          return storeDirectory(store, '', { entries, ...me })
        })
        const result = await restore(root)
        assert.equal(result.failed, 1)
        assert.equal(result.problems[0]?.path, 'x')
        assert.equal(readFileSync(path.join(outside, 'precious'), 'utf8'), 'kept')
      })
    }

    it('never follows a symlink that is already in the target', async () => {
      mkdirSync(target)
      symlinkSync(outside, path.join(target, 'sub'))
      symlinkSync(path.join(outside, 'precious'), path.join(target, 'precious'))
      const root = await build(async store => {
        const file = await storeFile(store, 'precious', { data: 'planted', ...me })
        const sub = await storeDirectory(store, 'sub', { entries: [file], ...me })
        return storeDirectory(store, '', { entries: [sub, file], ...me })
      })
      const result = await restore(root)
      assert.deepEqual(result.problems, [])
      assert.equal(readFileSync(path.join(outside, 'precious'), 'utf8'), 'kept')
      assert.equal(readFileSync(path.join(target, 'precious'), 'utf8'), 'planted')
      assert.ok(lstatSync(path.join(target, 'sub')).isDirectory())
    })

    it('never writes into a file that is linked from outside', async () => {
      mkdirSync(target)
      linkSync(path.join(outside, 'precious'), path.join(target, 'precious'))
      const result = await restore(await folderOf(['precious']))
      assert.deepEqual(result.problems, [])
      assert.equal(readFileSync(path.join(outside, 'precious'), 'utf8'), 'kept')
      assert.equal(readFileSync(path.join(target, 'precious'), 'utf8'), 'content of precious')
    })

    it('restores 10,000 levels, deeper than any path can name', async () => {
      const root = await build(async store => {
        let entry = await storeFile(store, 'deepest', { data: 'down here', ...me })
        for (let level = 0; level < 10_000; level++) {
          const other = await storeFile(store, 'f', { data: String(level % 7), ...me })
          entry = await storeDirectory(store, level === 9_999 ? '' : 'd', { entries: [entry, other], ...me })
        }
        return entry
      })
      const result = await restore(root)
      assert.deepEqual(result.problems, [])
      assert.deepEqual([result.folders, result.files], [10_000, 10_001])
      const parent = ContainedFolder.openTrusted(base)
      assert.equal(removeContained(parent, 'target'), 20_001)
      parent.close()
    })

    it('names an entry whose name the file system does not take, and restores the rest', async () => {
      const result = await restore(await folderOf(['n'.repeat(300), 'good']))
      assert.equal(result.failed, 1)
      assert.match(result.problems[0]?.error.message ?? '', /n{300}.*ENAMETOOLONG/)
      assert.deepEqual(readdirSync(target), ['good'])
    })

    it('keeps the first of two names that were told apart only by bytes that are not UTF-8', async () => {
      const result = await restore(await folderOf(['a\udc80', 'a\udc81', 'b']))
      assert.equal(result.failed, 1)
      assert.deepEqual(readdirSync(target).sort(), ['a\ufffd', 'b'])
    })

    it('names a directory that cannot be read, restores the rest and deletes nothing below it', async () => {
      mkdirSync(path.join(target, 'broken'), { recursive: true })
      writeFileSync(path.join(target, 'broken/old'), 'old')
      const root = await build(async store => {
        const broken = await storeFile(store, 'broken', {
          data: 'not a directory',
          type: 'd',
          mode: 0o755,
          ...me,
        })
        const good = await storeDirectory(store, 'good', { entries: [], ...me })
        return storeDirectory(store, '', {
          entries: [broken, good, await storeFile(store, 'f', { data: '', ...me })],
          ...me,
        })
      })
      const result = await restore(root, { deleteExtra: true })
      assert.deepEqual(
        result.problems.map(({ path: name, error }) => [name, error.code]),
        [['broken', 'CORRUPT']],
      )
      assert.deepEqual(readdirSync(target).sort(), ['broken', 'f', 'good'])
      assert.ok(existsSync(path.join(target, 'broken/old')))
    })

    it('refuses a symlink without a target and an entry of unknown kind', async () => {
      const root = await build(async store => {
        const empty = await storeSymlink(store, 'empty', { target: '', ...me })
        const nul = await storeSymlink(store, 'nul', { target: 'a\0b', ...me })
        const odd = await storeFile(store, 'odd', { data: 'x', type: '', ...me })
        return storeDirectory(store, '', { entries: [empty, nul, odd], ...me })
      })
      const result = await restore(root)
      assert.equal(result.failed, 3)
      assert.deepEqual(readdirSync(target), [])
    })

    it('refuses a file whose data is longer or shorter than its entry says', async () => {
      const root = await build(async store => {
        const short = await storeFile(store, 'short', { data: 'x', size: 1000, ...me })
        const long = await storeFile(store, 'long', { data: 'xxx', size: 1, ...me })
        return storeDirectory(store, '', { entries: [long, short], ...me })
      })
      const result = await restore(root)
      const named = new Set(result.problems.map(({ path: name, error }) => `${name} ${error.code}`))
      assert.deepEqual(named, new Set(['long CORRUPT', 'short CORRUPT']))
      assert.deepEqual(readdirSync(target), [])
    })
  })

  describe('into a folder with something in it', () => {
    beforeEach(() => {
      mkdirSync(path.join(target, 'extra/deep'), { recursive: true })
      writeFileSync(path.join(target, 'extra/deep/file'), 'x')
      writeFileSync(path.join(target, 'a'), 'old')
      symlinkSync(outside, path.join(target, 'extra/link'))
    })

    it('leaves other files alone and replaces those it has', async () => {
      const result = await restore(await folderOf(['a', 'b']))
      assert.deepEqual(result.problems, [])
      assert.deepEqual(readdirSync(target).sort(), ['a', 'b', 'extra'])
      assert.equal(readFileSync(path.join(target, 'a'), 'utf8'), 'content of a')
    })

    it('deletes extra files when asked, and nothing behind a symlink', async () => {
      const result = await restore(await folderOf(['a', 'b']), { deleteExtra: true })
      assert.equal(result.deleted, 4)
      assert.deepEqual(readdirSync(target).sort(), ['a', 'b'])
      assert.ok(existsSync(path.join(outside, 'precious')))
    })

    it('keeps what must not be overwritten and names it', async () => {
      const result = await restore(await folderOf(['a', 'b']), { overwrite: { files: false } })
      assert.deepEqual(
        result.problems.map(({ path: name, error }) => [name, error.code]),
        [['a', 'ALREADY_EXISTS']],
      )
      assert.equal(readFileSync(path.join(target, 'a'), 'utf8'), 'old')
      assert.ok(existsSync(path.join(target, 'b')))
    })

    it('refuses a target that is not empty when folders must not be overwritten', async () => {
      const root = await folderOf(['a'])
      await assert.rejects(restore(root, { overwrite: { folders: false } }), { code: 'TARGET_FAILED' })
    })

    it('does not put a file in the place of a folder unless extra files are deleted', async () => {
      const root = await folderOf(['extra'])
      assert.equal((await restore(root)).failed, 1)
      assert.ok(existsSync(path.join(target, 'extra/deep/file')))
      assert.equal((await restore(root, { deleteExtra: true })).failed, 0)
      assert.equal(readFileSync(path.join(target, 'extra'), 'utf8'), 'content of extra')
    })

    it('does not write unchanged files again when asked, and still sets their mode', async () => {
      const root = await folderOf(['a', 'b'])
      await restore(root)
      const inode = lstatSync(path.join(target, 'a')).ino
      writeFileSync(path.join(target, 'b'), 'changed')
      const result = await restore(root, { skipUnchanged: true })
      assert.deepEqual([result.skippedFiles, result.files], [1, 1])
      assert.equal(lstatSync(path.join(target, 'a')).ino, inode)
      assert.equal(readFileSync(path.join(target, 'b'), 'utf8'), 'content of b')
    })
  })

  it('leaves zeros unwritten when asked, with the same bytes', async () => {
    const data = Buffer.alloc(3_000_001)
    data.fill(7, 1_000_000, 1_000_100)
    const root = await build(async store =>
      storeDirectory(store, '', { entries: [await storeFile(store, 'holes', { data, ...me })], ...me }),
    )
    await restore(root, { sparse: true })
    assert.ok(readFileSync(path.join(target, 'holes')).equals(data))
    const holes = statSync(path.join(target, 'holes')).blocks
    await restore(root, { target: path.join(base, 'full') })
    assert.ok(readFileSync(path.join(base, 'full/holes')).equals(data))
    assert.ok(holes * 10 < statSync(path.join(base, 'full/holes')).blocks, `${holes} blocks`)
  })

  it('stops when cancelled and leaves no partial file', async () => {
    const data = Buffer.alloc(40_000_000, 1)
    for (let at = 0; at < data.length; at += 4096) data.writeUInt32LE(at, at)
    const root = await build(async store =>
      storeDirectory(store, '', { entries: [await storeFile(store, 'big', { data, ...me })], ...me }),
    )
    const controller = new AbortController()
    const onProgress = () => controller.abort()
    await assert.rejects(restore(root, { signal: controller.signal, onProgress }), { code: 'CANCELLED' })
    assert.deepEqual(readdirSync(target), [])
  })

  it('throws the first problem when asked to', async () => {
    const root = await build(async store =>
      storeDirectory(store, '', { entries: [await storeFile(store, '..', { data: '' })], ...me }),
    )
    await assert.rejects(restore(root, { failFast: true }), { code: 'UNSAFE_PATH' })
  })

  it('says what is wrong with a target that cannot be a folder', async () => {
    const root = await folderOf(['a'])
    const file = path.join(outside, 'precious')
    await assert.rejects(restore(root, { target: file }), { code: 'TARGET_FAILED', path: file })
  })

  it('writes the file of a block snapshot over a device, whatever its name', async () => {
    const data = Buffer.alloc(100_000, 5)
    const root = await build(async store =>
      storeDirectory(store, '/dev/xvdb', { entries: [await storeFile(store, '/dev/xvdb', { data })] }),
    )
    const device = path.join(outside, 'device')
    writeFileSync(device, Buffer.alloc(200_000, 9))
    assert.equal(await restoreDevice({ contents: repository.contents, entry: root, device }), 100_000)
    const written = readFileSync(device)
    assert.equal(written.length, 200_000)
    assert.ok(written.subarray(0, 100_000).equals(data))
    const missing = path.join(outside, 'missing')
    const entry = await folderOf(['a', 'b'])
    await assert.rejects(restoreDevice({ contents: repository.contents, entry: root, device: missing }), {
      code: 'TARGET_FAILED',
    })
    await assert.rejects(restoreDevice({ contents: repository.contents, entry, device }), {
      code: 'INVALID_ARGUMENT',
    })
  })
})

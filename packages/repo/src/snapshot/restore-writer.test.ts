import assert from 'node:assert/strict'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import { createRepository, type Repository } from '../repository.ts'
import type { DirectoryEntry } from './directory.ts'
import { timeSetter } from './exact-times.ts'
import { type RestoreTreeOptions, restoreTree } from './restore-tree.ts'
import { longestWrittenByThread, RestoreWriter } from './restore-writer.ts'
import { type EntryStore, storeDirectory, storeFile } from './testing/store-entries.ts'

const base = mkdtempSync(path.join(tmpdir(), 'lateen-writer-'))
const target = path.join(base, 'target')
const me = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
let repository: Repository

function restore(entry: DirectoryEntry, options: Partial<RestoreTreeOptions> = {}) {
  return restoreTree({ contents: repository.contents, entry, target, threads: 2, ...options })
}

/** A tree whose files all lie in the folder `sub`. */
function treeOf(make: (store: EntryStore) => Promise<DirectoryEntry>[]): Promise<DirectoryEntry> {
  return repository.writing({}, async ({ objects }) => {
    const entries = await Promise.all(make(objects))
    const sub = await storeDirectory(objects, 'sub', { entries, mtime: 77n, ...me })
    return storeDirectory(objects, '', { entries: [sub], ...me })
  })
}

describe('files that threads make', () => {
  before(async () => {
    repository = await createRepository({ storage: memoryStorage(), password: 'p' })
  })
  beforeEach(() => {
    rmSync(base, { recursive: true, force: true })
    mkdirSync(base)
  })
  after(async () => {
    rmSync(base, { recursive: true, force: true })
    await repository[Symbol.asyncDispose]()
  })

  it('have their bytes, modes and times, and so has the folder they are in', async () => {
    const sizes = [0, 1, 4096, longestWrittenByThread, longestWrittenByThread + 1]
    const data = Array.from({ length: 300 }, (_, index) => Buffer.alloc(sizes[index % 5] ?? 0, index))
    const root = await treeOf(store =>
      data.map((bytes, index) =>
        storeFile(store, `f${index}`, {
          data: bytes,
          mode: 0o400 + (index % 128),
          mtime: 1_000_000_007n * BigInt(index),
          ...me,
        }),
      ),
    )
    const result = await restore(root)
    assert.deepEqual([result.problems, result.notes], [[], []])
    const total = data.reduce((sum, { length }) => sum + length, 0)
    assert.deepEqual([result.files, result.bytes], [300, total])
    for (const [index, bytes] of data.entries()) {
      const file = path.join(target, 'sub', `f${index}`)
      const { mode, mtimeNs } = lstatSync(file, { bigint: true })
      assert.ok(bytes.equals(readFileSync(file)))
      assert.equal(Number(mode) & 0o7777, 0o400 + (index % 128))
      if (timeSetter().exact) assert.equal(mtimeNs, 1_000_000_007n * BigInt(index))
    }
    if (timeSetter().exact) assert.equal(lstatSync(path.join(target, 'sub'), { bigint: true }).mtimeNs, 77n)
  })

  it('are named when they cannot be made, and the others are there', async () => {
    const long = 'x'.repeat(256)
    const root = await treeOf(store => [
      storeFile(store, 'a', { data: 'a', ...me }),
      storeFile(store, long, { data: 'b', ...me }),
      storeFile(store, 'short', { data: 'c', ...me, size: 2 }),
      storeFile(store, 'z', { data: 'z', ...me }),
    ])
    const { problems, failed, files } = await restore(root)
    const codes = new Map(problems.map(({ path: place, error }) => [place, error.code]))
    assert.deepEqual(
      codes,
      new Map([
        ['sub/short', 'CORRUPT'],
        [`sub/${long}`, 'TARGET_FAILED'],
      ]),
    )
    assert.deepEqual([failed, files], [2, 2])
    assert.deepEqual(readdirSync(path.join(target, 'sub')).sort(), ['a', 'z'])
  })

  it('belong to whoever restores them when nobody may give them away, which is noted', async () => {
    if (process.getuid?.() !== 0) return
    const root = await treeOf(store => [storeFile(store, 'a', { data: 'a', uid: 1, gid: 1 })])
    mkdirSync(target)
    process.seteuid?.(65534)
    try {
      const open = path.join(mkdtempSync(path.join(tmpdir(), 'lateen-writer-')), 'target')
      const { problems, notes } = await restore(root, { target: open })
      assert.deepEqual(problems, [])
      assert.match(notes.join(), /owners could not be set/)
      assert.equal(lstatSync(path.join(open, 'sub/a')).uid, 65534)
      rmSync(path.dirname(open), { recursive: true })
    } finally {
      process.seteuid?.(0)
    }
  })

  it('are whole or not there when the restore is cancelled', async () => {
    const root = await treeOf(store =>
      Array.from({ length: 200 }, (_, index) =>
        storeFile(store, `f${index}`, { data: Buffer.alloc(9000, 1), ...me }),
      ),
    )
    const controller = new AbortController()
    const cancelled = restore(root, {
      signal: controller.signal,
      onProgress: ({ files }) => {
        if (files > 0) controller.abort()
      },
    })
    await assert.rejects(cancelled, { code: 'CANCELLED' })
    for (const name of readdirSync(path.join(target, 'sub'))) {
      assert.equal(lstatSync(path.join(target, 'sub', name)).size, 9000)
    }
  })

  it('are none when the writer ends while its threads still load koffi, and the process lives on', async () => {
    const attributes = { owners: false, permissions: true, times: true, ignorePermissionErrors: false }
    for (let round = 0; round < 30; round++) {
      await using writer = new RestoreWriter({ threads: 2, attributes, note: assert.fail })
      await new Promise(resolve => setTimeout(resolve, round * 3))
      assert.ok(writer)
    }
  })
})

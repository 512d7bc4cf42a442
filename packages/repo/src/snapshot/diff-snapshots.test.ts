import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { memoryStorage } from '../blob/memory.ts'
import { createRepository, type Repository } from '../repository.ts'
import { changedAspects, diffSnapshots } from './diff-snapshots.ts'
import type { DirectoryEntry } from './directory.ts'
import { formatEntryPath } from './entry-name.ts'
import { type EntryStore, storeDirectory, storeFile, storeSymlink } from './testing/store-entries.ts'
import { walkSnapshot } from './walk-snapshot.ts'

let repository: Repository

function build(make: (store: EntryStore) => Promise<DirectoryEntry>): Promise<DirectoryEntry> {
  return repository.writing({}, ({ objects }) => make(objects))
}

async function diff(older: DirectoryEntry, newer: DirectoryEntry): Promise<string[]> {
  const lines: string[] = []
  for await (const { kind, path, aspects } of diffSnapshots(repository.contents, {
    before: older,
    after: newer,
  })) {
    lines.push([kind, formatEntryPath(path), ...aspects].join(' '))
  }
  return lines
}

describe('the difference of two snapshots', () => {
  before(async () => {
    repository = await createRepository({ storage: memoryStorage(), password: 'p' })
  })
  after(() => repository[Symbol.asyncDispose]())

  it('names what was added, removed and changed, and in which respect', async () => {
    const older = await build(async store => {
      const file = (name: string, data: string) => storeFile(store, name, { data })
      const gone = await storeDirectory(store, 'gone', { entries: [await file('x', 'x')] })
      const same = await storeDirectory(store, 'same', { entries: [await file('x', 'x')] })
      const inner = await storeDirectory(store, 'inner', {
        entries: [await file('x', 'x'), await file('y', 'y')],
      })
      const entries = [gone, inner, same, await file('becomes folder', ''), await file('mode', '')]
      return storeDirectory(store, '', { entries })
    })
    const newer = await build(async store => {
      const file = (name: string, data: string) => storeFile(store, name, { data })
      const added = await storeDirectory(store, 'becomes folder', { entries: [await file('z', 'z')] })
      const same = await storeDirectory(store, 'same', { entries: [await file('x', 'x')], mtime: 5n })
      const inner = await storeDirectory(store, 'inner', {
        entries: [await file('x', 'X'), await file('y', 'y')],
      })
      const mode = await storeFile(store, 'mode', { data: '', mode: 0o600, uid: 5 })
      return storeDirectory(store, '', { entries: [added, inner, same, mode] })
    })
    assert.deepEqual(await diff(older, newer), [
      'removed becomes folder',
      'added becomes folder',
      'added becomes folder/z',
      'removed gone',
      'removed gone/x',
      'modified inner/x content',
      'modified mode mode owner',
      'modified same mtime',
    ])
    assert.deepEqual(await diff(older, older), [])
  })

  it('does not read directories that are the same object', async () => {
    const broken = await build(store => storeFile(store, 'shared', { data: 'not a directory', type: 'd' }))
    const make = (data: string) =>
      build(async store =>
        storeDirectory(store, '', { entries: [broken, await storeFile(store, 'f', { data })] }),
      )
    assert.deepEqual(await diff(await make('1'), await make('2')), ['modified f content'])
  })

  it('compares trees of 5,000 levels', async () => {
    const make = (data: string) =>
      build(async store => {
        let entry = await storeFile(store, 'f', { data })
        for (let level = 0; level < 5000; level++)
          entry = await storeDirectory(store, 'd', { entries: [entry] })
        return entry
      })
    const [line = '', ...others] = await diff(await make('1'), await make('2'))
    assert.deepEqual(others, [])
    assert.match(line, /^modified (d\/){4999}f content$/)
  })

  it('tells a change of kind from all others', () => {
    const entry = {
      name: 'a',
      mode: 1,
      size: 2,
      mtime: 3n,
      uid: 4,
      gid: 5,
      obj: 'aa',
    } as unknown as DirectoryEntry
    assert.deepEqual(changedAspects({ ...entry, type: 'f' }, { ...entry, type: 's', mode: 9 }), ['type'])
    const changed = { ...entry, type: 'f' as const, gid: 6, mtime: 4n, size: 3 }
    assert.deepEqual(changedAspects({ ...entry, type: 'f' }, changed), ['content', 'owner', 'mtime'])
  })

  it('the walk goes on beside a directory that cannot be read, and stays out of those it is told to skip', async () => {
    const root = await build(async store => {
      const broken = await storeFile(store, 'broken', { data: 'not a directory', type: 'd' })
      const full = await storeDirectory(store, 'full', {
        entries: [await storeFile(store, 'x', { data: '' })],
      })
      const skipped = await storeDirectory(store, 'skipped', {
        entries: [await storeFile(store, 'y', { data: '1' })],
      })
      const link = await storeSymlink(store, 'link', { target: 'x' })
      return storeDirectory(store, '', { entries: [broken, full, skipped, link] })
    })
    const seen: string[] = []
    const failed: string[] = []
    for await (const { path, depth } of walkSnapshot(repository.contents, root, {
      skip: ({ name }) => name === 'skipped',
      onDirectoryError: ({ path: place }) => void failed.push(formatEntryPath(place)),
    })) {
      seen.push(`${depth} ${formatEntryPath(path)}`)
    }
    assert.deepEqual(seen, ['0 ', '1 broken', '1 full', '2 full/x', '1 skipped', '1 link'])
    assert.deepEqual(failed, ['broken'])
    await assert.rejects(Array.fromAsync(walkSnapshot(repository.contents, root)), { code: 'CORRUPT' })
  })
})

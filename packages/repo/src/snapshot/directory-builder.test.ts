import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { objectId } from '../object/object-id.ts'
import type { DirectoryEntry } from './directory.ts'
import { DirectoryBuilder } from './directory-builder.ts'

function entry(name: string, fields: Partial<DirectoryEntry>): DirectoryEntry {
  return { name, type: 'f', mode: 0o644, size: 0, mtime: 0n, uid: 0, gid: 0, obj: objectId('ab'), ...fields }
}

describe('the summary of a directory', () => {
  it('adds up files, symlinks and subdirectories, and counts itself', () => {
    const child = new DirectoryBuilder()
    child.add(entry('x', { size: 5, mtime: 70n }))
    child.add(entry('l', { type: 's', size: 100 }))
    const { summary: below } = child.build(99n)
    const parent = new DirectoryBuilder()
    parent.add(entry('sub', { type: 'd', mtime: 20n, summary: below }))
    parent.add(entry('f', { size: 7, mtime: 30n }))
    const { summary } = parent.build(99n)
    const { size, files, symlinks, dirs, maxTime } = summary
    assert.deepEqual(
      { size, files, symlinks, dirs, maxTime },
      { size: 12, files: 2, symlinks: 1, dirs: 2, maxTime: 70n },
    )
  })

  it('has the time of the directory only when it is empty', () => {
    assert.equal(new DirectoryBuilder().build(42n).summary.maxTime, 42n)
    const builder = new DirectoryBuilder()
    builder.add(entry('old', { mtime: -5n }))
    assert.equal(builder.build(42n).summary.maxTime, 0n)
  })

  it('counts all failures and names the first ten', () => {
    const builder = new DirectoryBuilder()
    for (let i = 25; i > 0; i--)
      builder.addFailure({ path: `f${String(i).padStart(2, '0')}`, error: 'EACCES' }, i % 5 === 0)
    const { summary } = builder.build(0n, 'canceled')
    assert.deepEqual([summary.numFailed, summary.numIgnoredErrors, summary.incomplete], [20, 5, 'canceled'])
    assert.deepEqual(
      summary.errors.map(failed => failed.path),
      ['f01', 'f02', 'f03', 'f04', 'f05', 'f06', 'f07', 'f08', 'f09', 'f10'],
    )
  })

  it('does not change when more is added to a copy', () => {
    const builder = new DirectoryBuilder()
    builder.add(entry('a', { size: 1 }))
    const copy = builder.clone()
    copy.add(entry('b', { size: 2 }))
    assert.equal(builder.build(0n).summary.size, 1)
    assert.equal(copy.build(0n).summary.size, 3)
    assert.equal(builder.build(0n).entries.length, 1)
  })
})

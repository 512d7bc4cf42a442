import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { objectId } from '../object/object-id.ts'
import {
  type Directory,
  type DirectoryEntry,
  parseStoredDirectory,
  serializeDirectory,
  sortEntries,
} from './directory.ts'
import { DirectoryBuilder } from './directory-builder.ts'
import { findSameDirectory, type PreviousDirectory } from './previous-directories.ts'

const file: DirectoryEntry = {
  name: 'f',
  type: 'f',
  mode: 0o644,
  size: 5,
  mtime: 1_700_000_000_123_456_789n,
  uid: 1,
  gid: 2,
  obj: objectId('ab'),
}
const summary = new DirectoryBuilder().build(7n).summary
const folder: DirectoryEntry = { ...file, name: 'sub', type: 'd', size: 0, obj: objectId('kcd'), summary }

function directory(...entries: DirectoryEntry[]): Required<Directory> {
  const builder = new DirectoryBuilder()
  for (const entry of entries) builder.add(entry)
  const { entries: built, summary: sums } = builder.build(7n)
  return { entries: sortEntries(built), summary: sums }
}

function previous(text: string): PreviousDirectory {
  const stored = parseStoredDirectory(Buffer.from(text))
  const byName = new Map(stored.entries.map(entry => [String(entry.name ?? ''), entry]))
  return { objectId: objectId('kee'), stored, byName }
}

const textOf = (of: Directory) => Buffer.from(serializeDirectory(of)).toString()

describe('a directory', () => {
  const one = directory(file, folder)

  it('is found among the earlier ones in whatever order its entries come', () => {
    const before = [previous(textOf(directory(file))), previous(textOf(one))]
    const reversed = { ...one, entries: one.entries.toReversed() }
    assert.equal(findSameDirectory(before, reversed), 'kee')
  })

  const others: [string, Required<Directory>][] = [
    ['a time', directory({ ...file, mtime: file.mtime + 1n }, folder)],
    ['an object', directory({ ...file, obj: objectId('ac') }, folder)],
    ['a zero', directory({ ...file, uid: 0 }, folder)],
    ['a name', directory({ ...file, name: 'g' }, folder)],
    ['a kind', directory({ ...file, type: 's' }, folder)],
    ['the summary of a folder', directory(file, { ...folder, summary: { ...summary, maxTime: 8n } })],
    ['its own summary', { ...one, summary: { ...one.summary, incomplete: 'canceled' } }],
    ['an entry more', directory(file, folder, { ...file, name: 'h' })],
    ['an entry less', directory(folder)],
  ]
  for (const [what, other] of others) {
    it(`is not taken for one that differs in ${what}`, () => {
      assert.equal(findSameDirectory([previous(textOf(one))], other), undefined)
      assert.equal(findSameDirectory([previous(textOf(other))], one), undefined)
    })
  }

  const spellings: [string, (text: string) => string][] = [
    ['with a field we do not know', text => text.replace('"obj":"ab"', '"obj":"ab","more":1')],
    ['with fields in another order', text => text.replace('"uid":1,"gid":2', '"gid":2,"uid":1')],
    [
      'with a zero spelled out',
      text => text.replace('"mode":"0644","mtime"', '"mode":"0644","size":0,"mtime"'),
    ],
    ['with entries in another order', text => text.replace(/\[(.*\}\}),(.*)\]/, '[$2,$1]')],
    ['without a line feed', text => text.trimEnd()],
  ]
  for (const [how, respell] of spellings) {
    it(`is not taken for an equal one that somebody else has stored ${how}`, () => {
      const text = respell(textOf(one))
      assert.notEqual(text, textOf(one))
      assert.equal(findSameDirectory([previous(text)], one), undefined)
    })
  }
})

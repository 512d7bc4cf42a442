import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isRepoError } from '../errors/repo-error.ts'
import { encodeGoJson } from '../go-json/go-json.ts'
import { objectId } from '../object/object-id.ts'
import {
  type DirectoryEntry,
  type DirectorySummary,
  directoryEntryValue,
  encodeDirectoryEntry,
  isStoredAs,
  parseDirectory,
  parseStoredDirectory,
  serializeDirectory,
  serializeDirectoryInPieces,
  sortEntries,
} from './directory.ts'
import { nameFromBytes } from './name.ts'

const count = fc.integer({ min: 0, max: 2 ** 40 })
const time = fc.bigInt({ min: -6_795_364_578_871_345_152n, max: 9_000_000_000_000_000_000n })
const text = fc.string({ unit: 'grapheme', maxLength: 20 })

const summaries: fc.Arbitrary<DirectorySummary> = fc.record(
  {
    size: count,
    files: count,
    symlinks: count,
    dirs: count,
    maxTime: time,
    numFailed: count,
    numIgnoredErrors: count,
    errors: fc.array(fc.record({ path: text, error: text }, { noNullPrototype: true }), { maxLength: 3 }),
    incomplete: fc.constantFrom('checkpoint', 'canceled', 'limit reached'),
  },
  {
    noNullPrototype: true,
    requiredKeys: ['size', 'files', 'symlinks', 'dirs', 'maxTime', 'numFailed', 'numIgnoredErrors', 'errors'],
  },
)

const entries: fc.Arbitrary<DirectoryEntry> = fc.record(
  {
    name: text,
    type: fc.constantFrom('d' as const, 'f' as const, 's' as const, '' as const),
    mode: fc.integer({ min: 0, max: 0x7fff_ffff }),
    size: count,
    mtime: time,
    uid: fc.integer({ min: 0, max: 0xffff_ffff }),
    gid: fc.integer({ min: 0, max: 0xffff_ffff }),
    obj: fc.constantFrom('eac8', 'k556c', 'Ix1d5d', 'IIx00').map(objectId),
    summary: summaries,
  },
  { noNullPrototype: true, requiredKeys: ['name', 'type', 'mode', 'size', 'mtime', 'uid', 'gid', 'obj'] },
)

function file(name: string, type: DirectoryEntry['type'] = 'f'): DirectoryEntry {
  return { name, type, mode: 0o644, size: 1, mtime: 1n, uid: 0, gid: 0, obj: objectId('ab') }
}

describe('a directory object', () => {
  it('reads back what was written', () => {
    fc.assert(
      fc.property(
        fc.array(entries, { maxLength: 5 }),
        fc.option(summaries, { nil: undefined }),
        (list, summary) => {
          const directory = summary ? { entries: list, summary } : { entries: list }
          assert.deepEqual(parseDirectory(serializeDirectory(directory)), directory)
        },
      ),
    )
  })

  it('has its entries encoded as Go would encode their fields', () => {
    fc.assert(
      fc.property(entries, entry => {
        assert.equal(encodeDirectoryEntry(entry), encodeGoJson(directoryEntryValue(entry)))
      }),
    )
  })

  it('is compared without reading its fields, and any difference in metadata is seen', () => {
    const differences = fc.constantFrom<Partial<DirectoryEntry>>(
      { uid: 7 },
      { gid: 7 },
      { size: 7 },
      { mode: 7 },
      { mtime: 7n },
    )
    fc.assert(
      fc.property(entries, differences, (entry, difference) => {
        const bytes = serializeDirectory({ entries: [{ ...entry, type: 'f' }] })
        const [stored] = parseStoredDirectory(bytes).entries
        assert.ok(stored)
        assert.ok(isStoredAs(stored, { ...entry, type: 'f' }))
        assert.ok(!isStoredAs(stored, { ...entry, type: 's' }))
        const [field] = Object.keys(difference) as (keyof DirectoryEntry)[]
        const same = field !== undefined && entry[field] === difference[field]
        assert.equal(isStoredAs(stored, { ...entry, type: 'f', ...difference }), same)
      }),
    )
  })

  it('is the same whether it is encoded whole or in pieces', () => {
    const many = Array.from({ length: 3000 }, (_, index) => file(`f${index}`))
    const pieces = [...serializeDirectoryInPieces({ entries: many })]
    assert.ok(pieces.length > 1)
    assert.deepEqual(Buffer.concat(pieces), serializeDirectory({ entries: many }))
    assert.equal(parseDirectory(Buffer.concat(pieces)).entries.length, 3000)
  })

  it('writes null for no entries, leaves zero fields out, and ends with a line feed', () => {
    const summary = {
      size: 0,
      files: 0,
      symlinks: 0,
      dirs: 1,
      maxTime: 0n,
      numFailed: 0,
      numIgnoredErrors: 0,
      errors: [],
    }
    assert.equal(
      Buffer.from(serializeDirectory({ entries: [], summary })).toString(),
      '{"stream":"kopia:directory","entries":null,"summary":' +
        '{"size":0,"files":0,"symlinks":0,"dirs":1,"maxTime":"1970-01-01T00:00:00Z","numFailed":0}}\n',
    )
    const bare: DirectoryEntry = { ...file('a'), mode: 0, size: 0, mtime: 0n }
    assert.equal(encodeDirectoryEntry(bare), '{"name":"a","type":"f","obj":"ab"}')
  })

  it('escapes names as Go does and each byte that is not UTF-8 as U+FFFD', () => {
    const names = ['<a>&"\\', 'x\u2028\x7f\x01', nameFromBytes(Buffer.of(0x61, 0xff, 0xfe)), '\ufffd']
    const encoded = names.map(name => /"name":"(.*)","type"/.exec(encodeDirectoryEntry(file(name)))?.[1])
    assert.deepEqual(encoded, [
      '\\u003ca\\u003e\\u0026\\"\\\\',
      'x\\u2028\x7f\\u0001',
      'a\\ufffd\\ufffd',
      '\ufffd',
    ])
  })

  it('sorts directories first and names by their bytes', () => {
    const sorted = sortEntries([
      file('b'),
      file('😀'),
      file('z', 'd'),
      file('\uffee'),
      file('B'),
      file('a', 's'),
      file('a-', 'd'),
    ])
    assert.deepEqual(
      sorted.map(entry => entry.name),
      ['a-', 'z', 'B', 'a', 'b', '\uffee', '😀'],
    )
  })

  it('reads modes of any base that Go would', () => {
    const modeOf = (mode: string) =>
      parseDirectory(Buffer.from(`{"stream":"kopia:directory","entries":[{"mode":"${mode}","obj":"ab"}]}`))
        .entries[0]?.mode
    assert.equal(modeOf('0644'), 0o644)
    assert.equal(modeOf('0o755'), 0o755)
    assert.equal(modeOf('0x1ff'), 0o777)
    assert.equal(modeOf('420'), 0o644)
  })

  it('is refused when its bytes are something else', () => {
    const wrong = [
      '',
      '{}',
      '[]',
      'null',
      '{"stream":"kopia:indirect"}',
      '{"stream":"kopia:directory","entries":[{}]}',
    ]
    for (const bytes of wrong) {
      assert.throws(
        () => parseDirectory(Buffer.from(bytes)),
        error => isRepoError(error, 'CORRUPT'),
      )
    }
  })
})

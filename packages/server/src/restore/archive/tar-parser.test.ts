import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { serializeTar, type TarFile } from '../../../../../tools/image/tar.ts'
import { ArchiveError } from './archive-error.ts'
import { TarParser } from './tar-parser.ts'
import { paxEntry, rawEntry, signed, tarEnd } from './testing/raw-tar.ts'

function parse(pieces: Iterable<Buffer>): { path: string; type: string; text: string }[] {
  const entries: { path: string; type: string; text: string }[] = []
  let open = false
  const parser = new TarParser({
    begin({ path, type }) {
      assert.equal(open, false)
      open = true
      entries.push({ path, type, text: '' })
    },
    content(bytes) {
      entries.at(-1)!.text += bytes.toString('latin1')
    },
    end() {
      open = false
    },
  })
  for (const piece of pieces) parser.push(piece)
  parser.finish()
  assert.equal(open, false)
  return entries
}

function* pieces(bytes: Buffer, sizes: Iterator<number>): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + (sizes.next().value as number)
    yield bytes.subarray(at, at + size)
    at += size
  }
}

describe('A tar parser', () => {
  it('reads what others write, in pieces of any size', () => {
    const file = fc
      .record({
        path: fc.stringMatching(/^[a-zé]{1,140}(\/[a-z:]{1,120})?$/),
        content: fc.oneof(fc.uint8Array({ maxLength: 50 }), fc.uint8Array({ maxLength: 2000 })),
      })
      .map(
        ({ path, content }): TarFile => ({ path, content, size: content.length, type: 'file', mode: 0o755 }),
      )
    fc.assert(
      fc.property(
        fc.array(file, { maxLength: 5 }),
        fc.infiniteStream(fc.nat({ max: 1500 })),
        (files, sizes) => {
          const tar = Buffer.from(serializeTar(files))
          const expected = files.map(({ path, content }) => ({
            path,
            type: 'file',
            text: Buffer.from(content).toString('latin1'),
          }))
          assert.deepEqual(parse(pieces(tar, sizes[Symbol.iterator]())), expected)
        },
      ),
      { numRuns: 200 },
    )
  })

  it('reads an archive byte by byte', () => {
    const tar = Buffer.concat([rawEntry({ path: 'a', content: 'x'.repeat(600) }), tarEnd])
    assert.deepEqual(parse([...tar].map(byte => Buffer.of(byte))), [
      { path: 'a', type: 'file', text: 'x'.repeat(600) },
    ])
  })

  it('knows long names of GNU and pax, and uses each for one entry', () => {
    const long = 'n'.repeat(300)
    const tar = Buffer.concat([
      rawEntry({ path: '././@LongLink', content: `${long}\0`, flag: 'L', magic: 'ustar  \0' }),
      rawEntry({ path: 'cut', content: '1', magic: 'ustar  \0' }),
      rawEntry({ path: 'b', content: '2' }),
      paxEntry({ mtime: '1.5', path: `${long}/p` }),
      rawEntry({ path: 'cut', content: '3' }),
      rawEntry({ path: 'pax_global_header', content: '11 path=xx\n', flag: 'g' }),
      rawEntry({ path: 'c/', flag: '5' }),
      rawEntry({ path: 'old/', flag: '\0', magic: '' }),
      rawEntry({ path: 'old/d', content: '4', flag: '\0', magic: '' }),
      tarEnd,
      Buffer.alloc(8 * 512),
    ])
    assert.deepEqual(parse([tar]), [
      { path: long, type: 'file', text: '1' },
      { path: 'b', type: 'file', text: '2' },
      { path: `${long}/p`, type: 'file', text: '3' },
      { path: 'c/', type: 'folder', text: '' },
      { path: 'old/', type: 'folder', text: '' },
      { path: 'old/d', type: 'file', text: '4' },
    ])
  })

  it('takes the size of a pax header and large sizes in binary', () => {
    const wrong = rawEntry({ path: 'a', content: '123', size: 0 })
    assert.deepEqual(parse([paxEntry({ size: '3' }), wrong, tarEnd]), [
      { path: 'a', type: 'file', text: '123' },
    ])
    const binary = rawEntry({ path: 'a', content: '123' })
    binary.fill(0, 124, 136)
    binary[124] = 0x80
    binary[135] = 3
    assert.deepEqual(parse([signed(binary), tarEnd]), [{ path: 'a', type: 'file', text: '123' }])
  })

  it('does without the end of an archive, but not without a part of an entry', () => {
    const entry = rawEntry({ path: 'a', content: 'x' })
    assert.equal(parse([entry]).length, 1)
    assert.equal(parse([entry, Buffer.alloc(512)]).length, 1)
    assert.equal(parse([]).length, 0)
    for (let length = 1; length < entry.length; length++) {
      const cut = () => parse([entry.subarray(0, length)])
      assert.throws(cut, { code: 'ARCHIVE_TRUNCATED' })
    }
    assert.throws(() => parse([paxEntry({ path: 'b' })]), { code: 'ARCHIVE_TRUNCATED' })
  })

  const refused: Record<string, { tar: Buffer[]; code: string }> = {
    'a wrong checksum': {
      tar: [Buffer.from(rawEntry({ path: 'a' })).fill('b', 0, 1)],
      code: 'ARCHIVE_DAMAGED',
    },
    'something after the end': { tar: [tarEnd, rawEntry({ path: 'a' })], code: 'ARCHIVE_DAMAGED' },
    'half an end': { tar: [tarEnd.subarray(512), rawEntry({ path: 'a' })], code: 'ARCHIVE_DAMAGED' },
    'an end in place of an entry': { tar: [paxEntry({ path: 'a' }), tarEnd], code: 'ARCHIVE_DAMAGED' },
    'a symlink': { tar: [rawEntry({ path: 'a', flag: '2' })], code: 'ARCHIVE_ENTRY_TYPE' },
    'a hard link': { tar: [rawEntry({ path: 'a', flag: '1' })], code: 'ARCHIVE_ENTRY_TYPE' },
    'a device': { tar: [rawEntry({ path: 'a', flag: '3' })], code: 'ARCHIVE_ENTRY_TYPE' },
    'a sparse file': {
      tar: [paxEntry({ 'GNU.sparse.major': '1' }), rawEntry({ path: 'a' })],
      code: 'ARCHIVE_ENTRY_TYPE',
    },
    'a size that is no number': {
      tar: [signed(Buffer.from(rawEntry({ path: 'a' })).fill('x', 124, 130))],
      code: 'ARCHIVE_DAMAGED',
    },
    'a pax header without end': {
      tar: [rawEntry({ path: 'x', content: '99 path=a\n', flag: 'x' })],
      code: 'ARCHIVE_DAMAGED',
    },
    'a pax header of no length': {
      tar: [rawEntry({ path: 'x', content: '0 path=a\n', flag: 'x' })],
      code: 'ARCHIVE_DAMAGED',
    },
    'a negative size': { tar: [paxEntry({ size: '-1' }), rawEntry({ path: 'a' })], code: 'ARCHIVE_DAMAGED' },
    'a name without bounds': {
      tar: [rawEntry({ path: 'x', flag: 'L', size: 70_000 })],
      code: 'ARCHIVE_TOO_LARGE',
    },
  }
  for (const [what, { tar, code }] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      assert.throws(() => parse(tar), { name: 'ArchiveError', code })
    })
  }

  it('reads or refuses anything, and never throws anything else', () => {
    const valid = Buffer.concat([
      paxEntry({ path: 'p', size: '3' }),
      rawEntry({ path: 'a', content: 'abc' }),
      tarEnd,
    ])
    const change = fc.record({
      at: fc.nat({ max: valid.length - 1 }),
      to: fc.nat({ max: 255 }),
      sign: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), changes => {
        const bytes = Buffer.from(valid)
        for (const { at, to, sign } of changes) {
          bytes[at] = to
          // With the right checksum the change is looked at.
          const start = at - (at % 512)
          if (sign) signed(bytes.subarray(start, start + 512))
        }
        try {
          parse([bytes])
        } catch (error) {
          assert.ok(error instanceof ArchiveError, String(error))
        }
      }),
      { numRuns: 500 },
    )
  })
})

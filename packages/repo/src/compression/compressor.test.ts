import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import {
  compressionIdOf,
  compressorByName,
  compressorNameOf,
  compressorNames,
  decompress,
  maxContentLength,
} from './compressor.ts'
import { kopiaEmptyStreams, kopiaStreams } from './testing/kopia-streams.ts'

const ids: Readonly<Record<string, number>> = {
  gzip: 0x1000,
  'gzip-best-speed': 0x1001,
  'gzip-best-compression': 0x1002,
  zstd: 0x1100,
  'zstd-fastest': 0x1101,
  'zstd-better-compression': 0x1102,
  'zstd-best-compression': 0x1103,
  's2-default': 0x1200,
  's2-better': 0x1201,
  's2-parallel-4': 0x1202,
  's2-parallel-8': 0x1203,
  pgzip: 0x1300,
  'pgzip-best-speed': 0x1301,
  'pgzip-best-compression': 0x1302,
  lz4: 0x1400,
  'deflate-default': 0x1500,
  'deflate-best-speed': 0x1501,
  'deflate-best-compression': 0x1502,
}

const sample = Buffer.concat([
  Buffer.from(Array.from({ length: 150 }, (_, i) => `record ${i} has the square ${i * i}\n`).join('')),
  Buffer.alloc(70_000),
  Buffer.from(Array.from({ length: 50 }, (_, i) => `record ${i} has the cube ${i * i * i}\n`).join('')),
])

const corrupt = { name: 'RepoError', code: 'CORRUPT' }

/** Bytes with repetitions near and far, which is what compressors have code for. */
const repetitive = fc
  .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.integer({ min: 1, max: 400 })), {
    maxLength: 12,
  })
  .map(parts => Buffer.concat(parts.flatMap(([bytes, times]) => Array.from({ length: times }, () => bytes))))

function familyOf(name: string): string {
  return name.replace(/^pgzip/, 'gzip').replace(/-.*/, '')
}

const families = ['gzip', 'zstd', 's2-default', 'lz4', 'deflate-default']

describe('compressor', () => {
  it('has the header ids of Kopia', () => {
    const actual = Object.fromEntries(compressorNames.map(name => [name, compressorByName(name).id]))
    assert.deepEqual(actual, ids)
    assert.equal(compressorNameOf(0x1101), 'zstd-fastest')
    assert.equal(compressorNameOf(0x1600), undefined)
  })

  for (const name of Object.keys(kopiaStreams)) {
    it(`reads what Kopia compressed with ${name}`, () => {
      const stream = Buffer.from(kopiaStreams[name] as string, 'base64')
      assert.equal(compressionIdOf(stream), ids[name])
      assert.ok(sample.equals(decompress(stream)))
      assert.equal(decompress(Buffer.from(kopiaEmptyStreams[name] as string, 'hex')).length, 0)
    })
  }

  for (const name of compressorNames) {
    it(`${name} reads back the sample it compressed, under its own header`, () => {
      const compressed = compressorByName(name).compress(sample)
      assert.equal(compressionIdOf(compressed), ids[name])
      assert.ok(compressed.length < sample.length / 10, `${compressed.length} bytes`)
      assert.ok(sample.equals(decompress(compressed)))
    })

    it(`${name} reads the streams of its family whatever the id in the family`, () => {
      const other = Object.keys(kopiaStreams).find(stream => familyOf(stream) === familyOf(name)) as string
      const stream = Buffer.from(kopiaStreams[other] as string, 'base64')
      stream.writeUInt32BE(ids[name] as number, 0)
      assert.ok(sample.equals(decompress(stream)))
    })
  }

  for (const name of families) {
    it(`${name} reads back anything it compressed`, () => {
      const compressor = compressorByName(name)
      const anything = fc.oneof(fc.uint8Array({ maxLength: 3000, size: 'max' }), repetitive)
      fc.assert(
        fc.property(anything, data =>
          assert.ok(Buffer.from(data).equals(decompress(compressor.compress(data)))),
        ),
      )
    })

    it(`${name} names a stream corrupt wherever it is cut`, () => {
      const compressed = compressorByName(name).compress(sample.subarray(0, 3000))
      // An S2 stream has no end mark: cut after its id it is a stream without data.
      const noEnd = name === 's2-default' ? [14] : []
      for (let length = 5; length < compressed.length; length++) {
        const cut = compressed.subarray(0, length)
        if (noEnd.includes(length)) assert.equal(decompress(cut).length, 0)
        else assert.throws(() => decompress(cut), corrupt, `cut after ${length} bytes`)
      }
    })

    it(`${name} never answers damaged bytes with anything but data or a corrupt error`, () => {
      const compressed = compressorByName(name).compress(sample)
      const edits = fc.array(fc.tuple(fc.nat(compressed.length - 5), fc.nat(255)), {
        minLength: 1,
        maxLength: 5,
      })
      fc.assert(
        fc.property(edits, changes => {
          const damaged = Uint8Array.from(compressed)
          for (const [at, byte] of changes) damaged[4 + at] = byte
          try {
            decompress(damaged, { maxLength: 1 << 20 })
          } catch (error) {
            assert.equal((error as { code?: unknown }).code, 'CORRUPT')
          }
        }),
        { numRuns: 300 },
      )
    })

    it(`${name} stops at the limit of the caller, and allows exactly that many bytes`, () => {
      const bomb = compressorByName(name).compress(new Uint8Array(5 << 20))
      assert.throws(() => decompress(bomb, { maxLength: (5 << 20) - 1 }), corrupt)
      assert.throws(() => decompress(bomb, { maxLength: 0 }), corrupt)
      assert.equal(decompress(bomb, { maxLength: 5 << 20 }).length, 5 << 20)
      assert.equal(decompress(compressorByName(name).compress(new Uint8Array(0)), { maxLength: 0 }).length, 0)
    })
  }

  it('refuses a header that is unknown or incomplete', () => {
    const unknown = Buffer.from('0000160000', 'hex')
    assert.throws(() => decompress(unknown), { ...corrupt, message: /unknown id 0x1600/ })
    assert.throws(() => decompress(unknown.subarray(0, 3)), { ...corrupt, message: /3 bytes is too short/ })
    assert.throws(() => compressionIdOf(new Uint8Array(0)), corrupt)
  })

  it('refuses a name that Kopia does not know', () => {
    assert.throws(() => compressorByName('brotli'), { name: 'RepoError', code: 'INVALID_ARGUMENT' })
  })

  it('refuses to make more of a stream than a content can be, before it makes anything', () => {
    const block = Buffer.from([0x00, 8, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x02])
    const start = Buffer.from([0, 0, 0x12, 0, 0xff, 6, 0, 0, ...Buffer.from('S2sTwO')])
    const claims = maxContentLength / (4 << 20) + 1
    const bomb = Buffer.concat([start, ...Array.from({ length: claims }, () => block)])
    assert.throws(() => decompress(bomb), { ...corrupt, message: /more than the 268435456 bytes/ })
  })

  it('reads all frames of a zstd stream and skips the skippable ones', () => {
    const header = Buffer.from('00001100', 'hex')
    const skippable = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
    const frames = [
      zstdCompressSync('one '),
      skippable,
      zstdCompressSync(Buffer.alloc(300_000)),
      zstdCompressSync('two'),
    ]
    const data = decompress(Buffer.concat([header, ...frames]))
    assert.ok(Buffer.concat([Buffer.from('one '), Buffer.alloc(300_000), Buffer.from('two')]).equals(data))
    assert.throws(() => decompress(Buffer.concat([header, ...frames]), { maxLength: 300_006 }), corrupt)
    assert.throws(() => decompress(Buffer.concat([header, ...frames, Buffer.from('rubbish!')])), corrupt)
  })
})

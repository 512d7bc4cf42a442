import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { crc32c } from './crc32c.ts'
import { decompressS2 } from './s2.ts'
import { decodeS2Block, s2BlockLength } from './s2-block.ts'

const corrupt = { name: 'RepoError', code: 'CORRUPT' }
const limit = 1 << 20
const start = [0xff, 6, 0, 0, ...Buffer.from('S2sTwO')]
/** A raw chunk of "abc" with its masked checksum. */
const abc = rawChunk(Buffer.from('abc'))

function rawChunk(bytes: Uint8Array): number[] {
  const crc = crc32c(bytes)
  const masked = (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32LE(masked, 0)
  return [0x01, bytes.length + 4, 0, 0, ...checksum, ...bytes]
}

function read(bytes: readonly number[]): string {
  return Buffer.from(decompressS2(Uint8Array.from(bytes), limit)).toString()
}

function decodeBlock(bytes: readonly number[]): string {
  const block = Uint8Array.from(bytes)
  const out = new Uint8Array(s2BlockLength(block))
  decodeS2Block(block, out)
  return Buffer.from(out).toString()
}

describe('S2 stream', () => {
  it('skips padding and unknown skippable chunks, and may begin again', () => {
    const padding = [0xfe, 2, 0, 0, 9, 9]
    const index = [0x99, 1, 0, 0, 7]
    assert.equal(read([...start, ...padding, ...abc, ...index, ...start, ...abc]), 'abcabc')
  })

  it('accepts the id of a Snappy stream', () => {
    assert.equal(read([0xff, 6, 0, 0, ...Buffer.from('sNaPpY'), ...abc]), 'abc')
  })

  it('refuses a missing or unknown id, an unskippable chunk, a short chunk and a wrong checksum', () => {
    assert.throws(() => read(abc), corrupt)
    assert.throws(() => read([0xff, 6, 0, 0, ...Buffer.from('sNaPpX'), ...abc]), corrupt)
    assert.throws(() => read([...start, 0x02, 0, 0, 0]), corrupt)
    assert.throws(() => read([...start, 0x01, 3, 0, 0, 1, 2, 3]), corrupt)
    assert.throws(() => read([...start, ...abc.with(-1, 0x64)]), { ...corrupt, message: /checksum/ })
  })
})

describe('S2 block', () => {
  it('decodes literals and all forms of copies', () => {
    const literal = [3 << 2, ...Buffer.from('abcd')]
    assert.equal(decodeBlock([4, ...literal]), 'abcd')
    assert.equal(decodeBlock([9, ...literal, (1 << 2) | 1, 4]), 'abcdabcda')
    assert.equal(decodeBlock([7, ...literal, (2 << 2) | 2, 2, 0]), 'abcdcdc')
    assert.equal(decodeBlock([7, ...literal, (2 << 2) | 3, 1, 0, 0, 0]), 'abcdddd')
  })

  it('repeats the last offset for each form of the length', () => {
    const once = [3 << 2, ...Buffer.from('abcd'), (0 << 2) | 1, 4]
    const expected = (length: number) => 'abcd'.repeat(Math.ceil(length / 4)).slice(0, length)
    assert.equal(decodeBlock([14, ...once, (2 << 2) | 1, 0]), expected(14))
    assert.equal(decodeBlock([8 + 10, ...once, (5 << 2) | 1, 0, 2]), expected(18))
    assert.equal(decodeBlock([0x8d, 0x02, ...once, (6 << 2) | 1, 0, 1, 0]), expected(269))
    const long = 8 + 65540 + 5
    const length = [(long & 0x7f) | 0x80, ((long >> 7) & 0x7f) | 0x80, long >> 14]
    assert.equal(decodeBlock([...length, ...once, (7 << 2) | 1, 0, 5, 0, 0]), expected(long))
  })

  it('refuses copies from before the block, a repetition of nothing, and other lengths than it claims', () => {
    const literal = [3 << 2, ...Buffer.from('abcd')]
    assert.throws(() => decodeBlock([8, ...literal, 1, 5]), corrupt)
    assert.throws(() => decodeBlock([8, ...literal, 1, 0]), corrupt)
    assert.throws(() => decodeBlock([5, ...literal, (1 << 2) | 1, 4]), corrupt)
    assert.throws(() => decodeBlock([10, ...literal, (1 << 2) | 1, 4]), corrupt)
    assert.throws(() => decodeBlock([3, ...literal]), corrupt)
    assert.throws(() => decodeBlock([4, ...literal.slice(0, -1)]), corrupt)
    assert.throws(() => decodeBlock([4, 63 << 2, 0xff, 0xff, 0xff, 0xff]), corrupt)
  })

  it('refuses a length that is missing, endless or more than S2 allows', () => {
    assert.throws(() => s2BlockLength(Uint8Array.of()), corrupt)
    assert.throws(() => s2BlockLength(Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x01)), corrupt)
    assert.throws(() => s2BlockLength(Uint8Array.of(0x81, 0x80, 0x80, 0x02)), corrupt)
    assert.equal(s2BlockLength(Uint8Array.of(0x80, 0x80, 0x80, 0x02)), 4 << 20)
  })
})

describe('CRC-32C', () => {
  it('gives the check value of the algorithm', () => {
    assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283)
  })
})

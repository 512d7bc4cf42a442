import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { xxhash32 as xxhash32OfWasm } from 'hash-wasm'
import { decompressLz4 } from './lz4.ts'
import { xxhash32 } from './xxhash32.ts'

const corrupt = { name: 'RepoError', code: 'CORRUPT' }
const endMark = [0, 0, 0, 0]
const independent = 0x60
const linked = 0x40

/** A frame with blocks of at most 64 KiB and the given flags, optional header fields and blocks. */
function frame(
  flags: number,
  { fields = [], body }: { fields?: readonly number[]; body: readonly number[] },
): number[] {
  const descriptor = [flags, 0x40, ...fields]
  const checksum = (xxhash32(Uint8Array.from(descriptor)) >>> 8) & 0xff
  return [0x04, 0x22, 0x4d, 0x18, ...descriptor, checksum, ...body]
}

function block(bytes: readonly number[]): number[] {
  return [bytes.length, 0, 0, 0, ...bytes]
}

function rawBlock(bytes: Uint8Array): number[] {
  return [bytes.length, 0, 0, 0x80, ...bytes]
}

function word(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, value >>> 24]
}

function read(bytes: readonly number[], maxLength = 1 << 20): string {
  return Buffer.from(decompressLz4(Uint8Array.from(bytes), maxLength)).toString()
}

const abcd = Buffer.from('abcd')
/** "abcd", a match of 6 bytes 4 before, then "e". */
const matching = [0x42, ...abcd, 4, 0, 0x10, 0x65]
/** A match of 4 bytes 4 before its block, then "e". */
const reaching = [0x00, 4, 0, 0x10, 0x65]

describe('LZ4 frame', () => {
  it('decodes blocks, raw blocks and several frames, and skips skippable ones', () => {
    const one = frame(independent, { body: [...block(matching), ...rawBlock(abcd), ...endMark] })
    const skippable = [0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2]
    assert.equal(read([...one, ...skippable, ...one]), 'abcdabcdabeabcdabcdabcdabeabcd')
  })

  it('lets a match reach into the block before only where blocks are linked', () => {
    const body = [...rawBlock(abcd), ...block(reaching), ...endMark]
    assert.equal(read(frame(linked, { body })), 'abcdabcde')
    assert.throws(() => read(frame(independent, { body })), corrupt)
  })

  it('lets no match reach into the frame before', () => {
    const first = frame(linked, { body: [...rawBlock(abcd), ...endMark] })
    const second = frame(linked, { body: [...block(reaching), ...endMark] })
    assert.throws(() => read([...first, ...second]), corrupt)
  })

  it('checks the checksums of blocks, of the content and of the header', () => {
    const blockSum = word(xxhash32(abcd))
    const contentSum = word(xxhash32(abcd))
    const body = [...rawBlock(abcd), ...blockSum, ...endMark, ...contentSum]
    assert.equal(read(frame(independent | 0x14, { body })), 'abcd')
    assert.throws(() => read(frame(independent | 0x14, { body: body.with(8, 1) })), corrupt)
    assert.throws(
      () => read(frame(independent | 0x14, { body: body.with(-1, (contentSum[3] ?? 0) ^ 1) })),
      corrupt,
    )
    assert.throws(() => read(frame(independent | 0x14, { body }).with(6, 0xee)), corrupt)
  })

  it('reads over a content size', () => {
    const body = [...rawBlock(abcd), ...endMark]
    assert.equal(read(frame(independent | 0x08, { fields: [4, 0, 0, 0, 0, 0, 0, 0], body })), 'abcd')
  })

  it('refuses another magic, another version and a dictionary', () => {
    assert.throws(() => read([1, 2, 3, 4, 5, 6, 7, 8]), corrupt)
    assert.throws(() => read(frame(0x80, { body: endMark })), corrupt)
    assert.throws(() => read(frame(independent | 1, { fields: word(7), body: endMark })), corrupt)
  })

  it('refuses a block that holds more than its frame allows', () => {
    const run = [0x1f, 0x61, 1, 0, ...Array.from({ length: 258 }, () => 255), 0, 0]
    const body = [...word(run.length), ...run, ...endMark]
    assert.throws(() => read(frame(independent, { body })), {
      ...corrupt,
      message: /more than its frame allows/,
    })
  })
})

describe('XXH32', () => {
  it('equals another implementation for any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async bytes => {
        assert.equal(xxhash32(bytes).toString(16).padStart(8, '0'), await xxhash32OfWasm(bytes))
      }),
    )
  })
})

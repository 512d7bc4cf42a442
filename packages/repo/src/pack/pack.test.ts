import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createContentEncryption } from '../encryption/content-encryption.ts'
import { RepoError } from '../errors/repo-error.ts'
import { createContentHash } from '../hashing/content-hash.ts'
import { contentIdOf, ivOf } from '../index-format/content-id.ts'
import { PackBuilder, type PackCrypto } from './pack-builder.ts'
import { parsePostamble, serializePostamble } from './pack-postamble.ts'
import { recoverPackIndex } from './recover-pack-index.ts'

const hex = (data: Uint8Array): string => Buffer.from(data).toString('hex')
const upTo0f = Uint8Array.from({ length: 16 }, (_, i) => i)
const isCorrupt = (error: unknown): boolean => error instanceof RepoError && error.code === 'CORRUPT'

const secret = Buffer.alloc(32, 1)
const hash = await createContentHash('BLAKE2B-256-128', secret)
const encryption = createContentEncryption({ name: 'AES256-GCM-HMAC-SHA256', secret })
const crypto: PackCrypto = { hash, encryption, indexVersion: 2, randomBytes }

function add(pack: PackBuilder, text: string, prefix = '') {
  const data = Buffer.from(text)
  const contentId = contentIdOf(prefix, hash.hash(data))
  const sealed = encryption.encrypt(data, ivOf(contentId))
  return pack.add({
    contentId,
    sealed,
    originalLength: data.length,
    compressionId: 0,
    timestamp: 1700000000,
    formatVersion: 3,
  })
}

function reading(bytes: Uint8Array) {
  return {
    packBlobId: 'p1',
    length: bytes.length,
    read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
  }
}

describe('a postamble', () => {
  it('equals the reference bytes', () => {
    const bytes = serializePostamble({ iv: upTo0f, localIndexOffset: 28385280, localIndexLength: 472 })
    assert.equal(hex(bytes), '0110000102030405060708090a0b0c0d0e0f80c0c40dd803419311d11c')
  })

  it('comes back from the end of any bytes', () => {
    const postamble = fc.record({
      iv: fc.uint8Array({ minLength: 16, maxLength: 32 }),
      localIndexOffset: fc.nat(2 ** 30),
      localIndexLength: fc.nat(2 ** 30),
    })
    fc.assert(
      fc.property(postamble, fc.uint8Array(), (fields, before) => {
        const bytes = serializePostamble(fields)
        const { length, ...parsed } = parsePostamble(Buffer.concat([before, bytes]))
        assert.equal(length, bytes.length)
        assert.deepEqual({ ...parsed, iv: hex(parsed.iv) }, { ...fields, iv: hex(fields.iv) })
      }),
    )
  })

  it('is refused when a bit of it changed', () => {
    const bytes = serializePostamble({ iv: upTo0f, localIndexOffset: 5, localIndexLength: 6 })
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const damaged = Uint8Array.from(bytes)
      damaged[bit >> 3]! ^= 1 << (bit & 7)
      assert.throws(() => parsePostamble(damaged), isCorrupt, `bit ${bit}`)
    }
  })

  it('is refused in bytes that hold none', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), bytes =>
        assert.throws(() => parsePostamble(bytes), isCorrupt),
      ),
    )
  })
})

describe('a pack', () => {
  it('holds its contents where the entries say, after a preamble of 32 bytes', () => {
    const pack = new PackBuilder('p1', crypto, new Uint8Array(100))
    const first = add(pack, 'one')
    const second = add(pack, 'two')
    const { parts, length } = pack.finish()
    const bytes = Buffer.concat(parts)
    assert.equal(bytes.length, length)
    assert.equal(first.packOffset, 32)
    for (const [entry, text] of [
      [first, 'one'],
      [second, 'two'],
    ] as const) {
      const sealed = bytes.subarray(entry.packOffset, entry.packOffset + entry.packedLength)
      assert.equal(Buffer.from(encryption.decrypt(sealed, ivOf(entry.contentId))).toString(), text)
    }
  })

  it('is the same whether its bytes were here or away', async () => {
    const [here, away] = [new PackBuilder('p1', crypto, new Uint8Array(100)), new PackBuilder('p1', crypto)]
    const bytes = new Uint8Array(1000)
    for (const text of ['one', 'two', 'three']) {
      const { deleted: _, ...entry } = add(here, text)
      const placed = away.place(entry)
      assert.deepEqual(placed, { ...entry, deleted: false })
      assert.equal(away.sealedAt(placed), undefined)
      bytes.set(here.sealedAt(placed) ?? [], placed.packOffset)
    }
    away.fill(bytes)
    const [first, second] = [here, away].map(pack =>
      Buffer.concat(pack.finish().parts).subarray(32, here.length),
    )
    assert.deepEqual(first, second)
  })

  it('keeps its own index at a multiple of 4096', () => {
    for (const contentLength of [1, 4096 - 32 - 28, 5000]) {
      const pack = new PackBuilder('p1', crypto, new Uint8Array(100))
      add(pack, 'x'.repeat(contentLength))
      const { localIndexOffset, localIndexLength, length } = parsePostamble(
        Buffer.concat(pack.finish().parts),
      )
      assert.equal(localIndexOffset % 4096, 0)
      assert.ok(localIndexOffset >= pack.length + 1)
      assert.equal(localIndexOffset + localIndexLength + length, pack.finish().length)
    }
  })

  it('encrypts its own index with the whole hash of the plaintext', async () => {
    const wide = await createContentHash('BLAKE2B-256', secret)
    const pack = new PackBuilder('q1', { ...crypto, hash: wide }, new Uint8Array(100))
    add(pack, 'x', 'k')
    const bytes = Buffer.concat(pack.finish().parts)
    const { iv, localIndexOffset, localIndexLength } = parsePostamble(bytes)
    const plaintext = encryption.decrypt(
      bytes.subarray(localIndexOffset, localIndexOffset + localIndexLength),
      iv,
    )
    assert.equal(iv.length, 32)
    assert.equal(hex(wide.hash(plaintext)), hex(iv))
  })

  it('gives back an index that is longer than the first read', async () => {
    const pack = new PackBuilder('p1', crypto, new Uint8Array(100))
    const entries = Array.from({ length: 1000 }, (_, i) => add(pack, `content ${i}`))
    const index = await recoverPackIndex(reading(Buffer.concat(pack.finish().parts)), encryption)
    assert.equal(index.count, 1000)
    for (const entry of entries) assert.deepEqual(index.get(entry.contentId), entry)
  })

  it('needs a content', () => {
    assert.throws(() => new PackBuilder('p1', crypto, new Uint8Array(100)).finish(), {
      code: 'INVALID_ARGUMENT',
    })
  })

  it('names itself when its index is damaged, cut short or sealed with another key', async () => {
    const pack = new PackBuilder('p1', crypto, new Uint8Array(100))
    add(pack, 'one')
    const bytes = Buffer.concat(pack.finish().parts)
    const { localIndexOffset } = parsePostamble(bytes)
    const flipped = Buffer.from(bytes)
    flipped[localIndexOffset + 40]! ^= 1
    const otherKey = createContentEncryption({
      name: encryption.name,
      secret: createHmac('sha256', 'x').digest(),
    })
    const named = (error: unknown) => isCorrupt(error) && (error as RepoError).blobId === 'p1'
    await assert.rejects(recoverPackIndex(reading(flipped), encryption), named)
    await assert.rejects(recoverPackIndex(reading(bytes.subarray(0, -1)), encryption), named)
    await assert.rejects(recoverPackIndex(reading(bytes.subarray(0, 0)), encryption), named)
    await assert.rejects(recoverPackIndex(reading(bytes.subarray(5000)), encryption), named)
    await assert.rejects(recoverPackIndex(reading(bytes), otherKey), named)
  })
})

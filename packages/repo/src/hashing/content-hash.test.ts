import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deriveBlake3Key } from './blake3-derive-key.ts'
import { createContentHash, hashNames } from './content-hash.ts'

const secret = Uint8Array.from({ length: 32 }, (_, i) => 0x20 + i)
const text = Buffer.from('hello world\n')

const known: Readonly<Record<string, string>> = {
  'BLAKE2B-256-128': '82c0e9efe4f0f8920cf609ebaf3e96c2',
  'BLAKE2B-256': '82c0e9efe4f0f8920cf609ebaf3e96c299564fcfea44f2cc4a1a02beb023e9aa',
  'BLAKE2S-128': 'e2beff563605cb581267ac10a7af255a',
  'BLAKE2S-256': 'ceee77f66c4fbd065ed24a2805192777d69627840328ec0f522a25d5ba4f6c7c',
  'BLAKE3-256-128': 'ee01d1a98250a515e615f12cf575d03e',
  'BLAKE3-256': 'ee01d1a98250a515e615f12cf575d03e972326b9ce55e098926495a513d4b340',
  'HMAC-SHA256-128': 'ee5b89f5d65072731a240d84f63714fc',
  'HMAC-SHA256': 'ee5b89f5d65072731a240d84f63714fcd600f3d153136147f9b743500095863e',
  'HMAC-SHA224': 'bc191ac2978696803bad6a064b9fd82303b3bd835335e2897c94d52a',
  'HMAC-SHA3-224': '622c63a775bfd82255a0a0791d72fdbe932494249e2e67a1e7350f49',
  'HMAC-SHA3-256': 'd1b19db9168b83283ccc7f77936a5bbf6f825f43d302c4a8c692c0a6cee06fd9',
}

/** 150 lines of squares, 70,000 zeros, 50 lines of cubes: more than one piece of any implementation. */
const sample = Buffer.concat([
  Buffer.from(Array.from({ length: 150 }, (_, i) => `record ${i} has the square ${i * i}\n`).join('')),
  Buffer.alloc(70_000),
  Buffer.from(Array.from({ length: 50 }, (_, i) => `record ${i} has the cube ${i * i * i}\n`).join('')),
])

/** Computed by the hash functions of Kopia 0.22.3 with the same secret. */
const knownOfSample: Readonly<Record<string, string>> = {
  'BLAKE2B-256': 'f07579fe9c0ad12bfd7f6a2a5125c7b9314f80c381e1d66a7cbf12852bb35a3d',
  'BLAKE2S-128': '85cfe44d539274d0f7410153706807a3',
  'BLAKE2S-256': '9e1292113268a0eda07ca480c8cbe324ce540ef2ad9c3785cefe7819d5d0a238',
  'BLAKE3-256': 'e6482611b6d2925f71988e18f16b86d87fd8e22b4e17d14e74931372b4bb0564',
  'HMAC-SHA256': 'a1d22e4036e9d0c704863080eea537f1aa85d2282bca17e42d5dc1d153bb7ef0',
  'HMAC-SHA3-256': '9b6502f97f9cc2ebd16c00474e5495ebae6835ec2e818a203dea9a2748a97046',
}

/** BLAKE3-256 of "hello world\n" by Kopia 0.22.3 for secrets of other lengths, which begin like the one above. */
const knownByShortSecret: readonly (readonly [length: number, digest: string])[] = [
  [0, 'd58ac734abb05b2cbaebf78aad784d15923b456094dd3608ebc85b6197cc628a'],
  [1, 'f22d9264ce27a645160d5e009d2b6acc75902ab9ee6c59b41bf7d9daa751fe03'],
  [16, '67af298941f49609de26b47370cd6705015d8c976a4ec1d29351f2a56b337269'],
  [31, 'fabcc1def4d505666f303a3fdfc1085d5a5188bbebccc5fedf7a36c8b5d04b15'],
]

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

describe('content hash', () => {
  it('knows the eleven algorithms of Kopia', () => {
    assert.deepEqual(new Set(hashNames), new Set(Object.keys(known)))
  })

  for (const [name, digest] of Object.entries(known)) {
    it(`${name} gives the known hash, again and again`, async () => {
      const contentHash = await createContentHash(name, secret)
      const first = contentHash.hash(text)
      contentHash.hash(sample)
      assert.equal(hex(first), digest)
      assert.equal(hex(contentHash.hash(text)), digest)
      assert.equal(contentHash.length, digest.length / 2)
      assert.equal(contentHash.name, name)
    })
  }

  for (const [name, digest] of Object.entries(knownOfSample)) {
    it(`${name} hashes more than one block as Kopia does`, async () => {
      assert.equal(hex((await createContentHash(name, secret)).hash(sample)), digest)
    })
  }

  it('hashes no bytes at all', async () => {
    const contentHash = await createContentHash('BLAKE2B-256-128', secret)
    assert.equal(hex(contentHash.hash(new Uint8Array(0))), '27366ff238c0cfa5f69df1f7a3c5b9b4')
  })

  it('keeps instances with different secrets apart', async () => {
    const one = await createContentHash('BLAKE2B-256-128', secret)
    const other = await createContentHash('BLAKE2B-256-128', new Uint8Array(32))
    other.hash(text)
    assert.equal(hex(one.hash(text)), known['BLAKE2B-256-128'])
    assert.notEqual(hex(other.hash(text)), known['BLAKE2B-256-128'])
  })

  for (const [length, digest] of knownByShortSecret) {
    it(`BLAKE3 derives its key from a secret of ${length} bytes as Kopia does`, async () => {
      const contentHash = await createContentHash('BLAKE3-256', secret.subarray(0, length))
      assert.equal(hex(contentHash.hash(text)), digest)
    })
  }

  it('BLAKE3 uses the first 32 bytes of a longer secret', async () => {
    const contentHash = await createContentHash('BLAKE3-256', Uint8Array.from([...secret, 1, 2, 3]))
    assert.equal(hex(contentHash.hash(text)), known['BLAKE3-256'])
  })

  it('refuses a name that Kopia does not know and a secret that is too long', async () => {
    await assert.rejects(createContentHash('MD5', secret), { name: 'RepoError', code: 'UNSUPPORTED_FORMAT' })
    await assert.rejects(createContentHash('toString', secret), {
      name: 'RepoError',
      code: 'UNSUPPORTED_FORMAT',
    })
    await assert.rejects(createContentHash('BLAKE2S-256', new Uint8Array(33)), {
      name: 'RepoError',
      code: 'INVALID_ARGUMENT',
    })
  })
})

describe('BLAKE3 key derivation', () => {
  it('refuses what does not fit one block', () => {
    assert.throws(() => deriveBlake3Key('context', new Uint8Array(65)), RangeError)
  })
})

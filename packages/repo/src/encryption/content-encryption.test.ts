import assert from 'node:assert/strict'
import { hkdfSync, randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createContentEncryption, encryptionNames } from './content-encryption.ts'

const secret = Buffer.from('efffeb0407ce08e6fca4220165c06bf4508d6ee17538f6a69f8df8149a6067d2', 'hex')
const iv = Buffer.from('82c0e9efe4f0f8920cf609ebaf3e96c2', 'hex')
const text = Buffer.from('hello world\n')
const nonce = (length: number) => Uint8Array.from({ length }, (_, i) => i)
const ecc = { name: 'REED-SOLOMON-CRC32', overheadPercent: 10 }

const known: Readonly<Record<string, string>> = {
  'AES256-GCM-HMAC-SHA256':
    '000102030405060708090a0b60de7ed0fb79a38a0d30e9716b7710e4e87594400cbb0d134745d742',
  'CHACHA20-POLY1305-HMAC-SHA256':
    '000102030405060708090a0bed640774367e850eac06c4643b43b65359738cca57290e3a68a19694',
}

/** From Kopia's own tests: "foo" sealed under the 32-byte id "aabbccddeeffgghhiijjkkllmmnnoopp". */
const sealedByKopia: Readonly<Record<string, string>> = {
  'AES256-GCM-HMAC-SHA256': 'e43ba07f85a6d70c5f1102ca06cf19c597e5f91e527b21f00fb76e8bec3fd1',
  'CHACHA20-POLY1305-HMAC-SHA256': '118359f3d4d589d939efbbc3168ae4c77c51bcebce6845fe6ef5d11342faa6',
}

const corrupt = { name: 'RepoError', code: 'CORRUPT' }

describe('content encryption', () => {
  it('knows the two ciphers of Kopia', () => {
    assert.deepEqual(new Set(encryptionNames), new Set(Object.keys(known)))
  })

  for (const name of encryptionNames) {
    it(`${name} seals to the known bytes`, () => {
      const encryption = createContentEncryption({ name, secret, randomBytes: nonce })
      assert.equal(Buffer.from(encryption.encrypt(text, iv)).toString('hex'), known[name])
    })

    it(`${name} opens what Kopia sealed under a whole hash`, () => {
      const master = '01234567890123456789012345678901'
      const derived = new Uint8Array(hkdfSync('sha256', master, 'encryption', '', 32))
      const encryption = createContentEncryption({ name, secret: derived })
      const sealed = Buffer.from(sealedByKopia[name] as string, 'hex')
      const opened = encryption.decrypt(sealed, Buffer.from('aabbccddeeffgghhiijjkkllmmnnoopp'))
      assert.equal(Buffer.from(opened).toString(), 'foo')
    })

    for (const correction of [undefined, ecc]) {
      it(`${name} ${correction === undefined ? 'alone' : 'with error correction'} opens what it sealed`, () => {
        const encryption = createContentEncryption({ name, secret, ecc: correction })
        const bytes = fc.uint8Array({ maxLength: 20_000, size: 'max' })
        fc.assert(
          fc.property(bytes, fc.uint8Array({ minLength: 16, maxLength: 32 }), (plaintext, anyIv) => {
            const sealed = encryption.encrypt(plaintext, anyIv)
            if (correction === undefined) assert.equal(sealed.length, plaintext.length + encryption.overhead)
            assert.deepEqual(Buffer.from(encryption.decrypt(sealed, anyIv)), Buffer.from(plaintext))
          }),
        )
      })
    }

    it(`${name} seals more than one piece of a content`, () => {
      const encryption = createContentEncryption({ name, secret })
      const plaintext = randomBytes((2 << 20) + 1)
      assert.ok(plaintext.equals(encryption.decrypt(encryption.encrypt(plaintext, iv), iv)))
    })

    it(`${name} notices every flipped bit, another iv and another secret`, () => {
      const encryption = createContentEncryption({ name, secret })
      const sealed = encryption.encrypt(text, iv)
      for (let bit = 0; bit < 8 * sealed.length; bit++) {
        const flipped = Uint8Array.from(sealed)
        flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
        assert.throws(() => encryption.decrypt(flipped, iv), corrupt)
      }
      assert.throws(() => encryption.decrypt(sealed, new Uint8Array(16)), corrupt)
      const stranger = createContentEncryption({ name, secret: new Uint8Array(32) })
      assert.throws(() => stranger.decrypt(sealed, iv), corrupt)
    })

    it(`${name} refuses bytes that are cut short`, () => {
      const encryption = createContentEncryption({ name, secret })
      const sealed = encryption.encrypt(text, iv)
      for (let length = 0; length < sealed.length; length++) {
        assert.throws(() => encryption.decrypt(sealed.subarray(0, length), iv), corrupt)
      }
    })
  }

  it('uses a new nonce each time', () => {
    const encryption = createContentEncryption({ name: 'AES256-GCM-HMAC-SHA256', secret })
    assert.notDeepEqual(encryption.encrypt(text, iv), encryption.encrypt(text, iv))
  })

  it('opens sealed bytes of which the disk has lost some, when error correction was on', () => {
    const encryption = createContentEncryption({ name: 'AES256-GCM-HMAC-SHA256', secret, ecc })
    const plaintext = randomBytes(50_000)
    const stored = Uint8Array.from(encryption.encrypt(plaintext, iv))
    stored.fill(0xff, 30_000, 30_100)
    assert.ok(plaintext.equals(encryption.decrypt(stored, iv)))
    stored.fill(0xff, 30_000, 33_000)
    assert.throws(() => encryption.decrypt(stored, iv), corrupt)
  })

  it('takes an empty name or no overhead as no error correction', () => {
    for (const none of [
      { name: '', overheadPercent: 5 },
      { name: 'REED-SOLOMON-CRC32', overheadPercent: 0 },
    ]) {
      const encryption = createContentEncryption({ name: 'AES256-GCM-HMAC-SHA256', secret, ecc: none })
      assert.equal(encryption.encrypt(text, iv).length, text.length + 28)
    }
  })

  it('refuses names that Kopia does not know', () => {
    const unsupported = { name: 'RepoError', code: 'UNSUPPORTED_FORMAT' }
    assert.throws(() => createContentEncryption({ name: 'NONE', secret }), unsupported)
    const unknown = { name: 'RAID', overheadPercent: 5 }
    assert.throws(
      () => createContentEncryption({ name: 'AES256-GCM-HMAC-SHA256', secret, ecc: unknown }),
      unsupported,
    )
    const tooMuch = { ...ecc, overheadPercent: 101 }
    assert.throws(
      () => createContentEncryption({ name: 'AES256-GCM-HMAC-SHA256', secret, ecc: tooMuch }),
      unsupported,
    )
  })
})

import { randomFillSync } from 'node:crypto'
import { aeadNames, createAead } from './aead.ts'
import { createErrorCorrection, type ErrorCorrection } from './error-correction.ts'

/** Seals and opens contents and whole blobs. Synchronous; one instance serves any number of calls. */
export interface ContentEncryption {
  readonly name: string
  /** Bytes that sealing adds. With error correction this counts the cipher alone; the rest depends on the length. */
  readonly overhead: number
  /**
   * Seals `plaintext` in a fresh array. `iv` is the last 16 bytes of the content hash, or the whole hash for the index
   * inside a pack; it is authenticated, not stored.
   */
  encrypt(plaintext: Uint8Array, iv: Uint8Array): Uint8Array
  /** Bytes of the sealed array before those that take the place of the plaintext. */
  readonly lead: number
  /**
   * Seals into the start of `target` and returns the number of bytes. The plaintext may lie in `target` itself, `lead` bytes from
   * its start, and is overwritten then.
   */
  encryptInto(target: Uint8Array, plaintext: Uint8Array, iv: Uint8Array): number
  /** Opens what `encrypt` sealed with the same `iv`. Throws `CORRUPT` when bytes, secret or iv do not fit together. */
  decrypt(sealed: Uint8Array, iv: Uint8Array): Uint8Array
}

/** What `createContentEncryption` needs. */
export interface ContentEncryptionOptions {
  name: string
  /** The secret for contents, derived from the master key. */
  secret: Uint8Array
  ecc?: { name: string; overheadPercent: number } | undefined
  /** Where nonces come from; the system's generator unless told otherwise. A nonce used twice breaks the cipher. */
  randomBytes?: ((length: number) => Uint8Array) | undefined
}

/** The names of all ciphers that Kopia 0.22 knows. */
export const encryptionNames: readonly string[] = aeadNames

/** The cipher of new repositories, which is Kopia's default. */
export const defaultEncryptionName = 'AES256-GCM-HMAC-SHA256'

/**
 * The cipher of a repository, wrapped in its error correction where it has one (an empty name or 0 percent is none).
 * Throws `UNSUPPORTED_FORMAT` for names that Kopia 0.22 does not know.
 */
export function createContentEncryption(options: ContentEncryptionOptions): ContentEncryption {
  const cipher = createAead(options.name, {
    secret: options.secret,
    randomBytes: options.randomBytes ?? pooledRandomBytes(),
  })
  const { ecc } = options
  if (ecc === undefined || ecc.name === '' || ecc.overheadPercent === 0) return cipher
  return correcting(cipher, createErrorCorrection(ecc.name, ecc.overheadPercent))
}

function correcting(cipher: ContentEncryption, correction: ErrorCorrection): ContentEncryption {
  return {
    name: cipher.name,
    overhead: cipher.overhead,
    lead: cipher.lead,
    encrypt: (plaintext, iv) => correction.protect(cipher.encrypt(plaintext, iv)),
    encryptInto(target, plaintext, iv) {
      const sealed = correction.protect(cipher.encrypt(plaintext, iv))
      target.set(sealed)
      return sealed.length
    },
    decrypt: (sealed, iv) => cipher.decrypt(correction.recover(sealed), iv),
  }
}

/**
 * The system's random bytes, asked for in advance because a request costs more than the bytes. No byte is handed out
 * twice; a result is valid until the next call.
 */
function pooledRandomBytes(): (length: number) => Uint8Array {
  const pool = new Uint8Array(4096)
  let used = pool.length
  return length => {
    if (used + length > pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += length
    return pool.subarray(used - length, used)
  }
}

import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { corrupt, RepoError } from '../errors/repo-error.ts'
import type { ContentEncryption } from './content-encryption.ts'

const nonceLength = 12
const tagLength = 16

// Node's ciphers return buffers of their own, which are copied into the sealed one and freed at once. Pieces of this size
// measured fastest: the allocator hands out the same memory again and again, and it stays in the processor's cache.
const pieceLength = 64 << 10

// Node types each cipher's options apart; both take the same ones.
const ciphers: Readonly<Record<string, 'aes-256-gcm'>> = {
  'AES256-GCM-HMAC-SHA256': 'aes-256-gcm',
  'CHACHA20-POLY1305-HMAC-SHA256': 'chacha20-poly1305' as 'aes-256-gcm',
}

/** The names `createAead` knows. */
export const aeadNames: readonly string[] = Object.keys(ciphers)

/** What `createAead` needs besides a name. */
export interface AeadOptions {
  secret: Uint8Array
  randomBytes: (length: number) => Uint8Array
}

/**
 * A cipher that makes a key for each content from the secret and the iv. Sealed bytes are nonce, ciphertext, tag.
 * Throws `UNSUPPORTED_FORMAT` for a name that is not in `aeadNames`.
 */
export function createAead(name: string, { secret, randomBytes }: AeadOptions): ContentEncryption {
  const cipher = Object.hasOwn(ciphers, name) ? ciphers[name] : undefined
  if (cipher === undefined) {
    throw new RepoError('UNSUPPORTED_FORMAT', {
      message: `The encryption algorithm "${name}" is unknown`,
      hint: `known are ${aeadNames.join(', ')}`,
    })
  }
  return new Aead({ name, cipher, secret: createSecretKey(secret), randomBytes })
}

interface AeadParts {
  name: string
  cipher: 'aes-256-gcm'
  secret: KeyObject
  randomBytes: (length: number) => Uint8Array
}

class Aead implements ContentEncryption {
  readonly name: string
  readonly overhead = nonceLength + tagLength
  readonly lead = nonceLength
  readonly #parts: AeadParts

  constructor(parts: AeadParts) {
    this.name = parts.name
    this.#parts = parts
  }

  encrypt(plaintext: Uint8Array, iv: Uint8Array): Uint8Array {
    const sealed = Buffer.allocUnsafeSlow(plaintext.length + this.overhead)
    this.encryptInto(sealed, plaintext, iv)
    return sealed
  }

  encryptInto(target: Uint8Array, plaintext: Uint8Array, iv: Uint8Array): number {
    const { length } = plaintext
    const nonce = this.#parts.randomBytes(nonceLength)
    const cipher = createCipheriv(this.#parts.cipher, this.#keyFor(iv), nonce, { authTagLength: tagLength })
    cipher.setAAD(iv, { plaintextLength: length })
    for (let at = 0; at < length; at += pieceLength) {
      const piece = length <= pieceLength ? plaintext : plaintext.subarray(at, at + pieceLength)
      const sealed = cipher.update(piece)
      target.set(sealed, nonceLength + at)
      free(sealed)
    }
    cipher.final()
    target.set(nonce, 0)
    target.set(cipher.getAuthTag(), nonceLength + length)
    return length + this.overhead
  }

  decrypt(sealed: Uint8Array, iv: Uint8Array): Uint8Array {
    if (sealed.length < this.overhead) {
      throw corrupt(
        `Sealed data of ${sealed.length} bytes is too short: ${this.name} alone adds ${this.overhead}`,
      )
    }
    const tagAt = sealed.length - tagLength
    const nonce = sealed.subarray(0, nonceLength)
    const decipher = createDecipheriv(this.#parts.cipher, this.#keyFor(iv), nonce, {
      authTagLength: tagLength,
    })
    decipher.setAAD(iv, { plaintextLength: tagAt - nonceLength })
    decipher.setAuthTag(sealed.subarray(tagAt))
    const plaintext = decipher.update(sealed.subarray(nonceLength, tagAt))
    try {
      decipher.final()
    } catch (cause) {
      throw corrupt(`${sealed.length} bytes sealed with ${this.name} do not match their authentication tag`, {
        hint: 'the bytes were damaged or belong to another content or another repository',
        cause,
      })
    }
    return plaintext
  }

  // Node takes 12 us to start a cipher with a key in a buffer and 2 us with a key object, made anew as it is here.
  #keyFor(iv: Uint8Array): KeyObject {
    return createSecretKey(createHmac('sha256', this.#parts.secret).update(iv).digest())
  }
}

/**
 * Gives back the memory of a buffer that is its only user. The collector would do so only after tens of megabytes of them,
 * which would be more than all else that an upload needs.
 */
function free({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
}

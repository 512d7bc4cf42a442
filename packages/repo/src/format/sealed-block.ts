import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import { RepoError } from '../errors/repo-error.ts'

const nonceLength = 12
const tagLength = 16

/** What seals `kopia.blobcfg` and the block inside `kopia.repository`. */
export interface SealingKey {
  formatKey: Uint8Array
  uniqueId: Uint8Array
}

/** Seals bytes with the format key: nonce, AES-256-GCM ciphertext, tag. `nonce` has 12 random bytes. */
export function seal(plaintext: Uint8Array, key: SealingKey, nonce: Uint8Array): Uint8Array {
  const { aesKey, aad } = deriveSealingKeys(key)
  const cipher = createCipheriv('aes-256-gcm', aesKey, nonce).setAAD(aad)
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
}

/** Opens what `seal` made. Throws `BAD_PASSWORD`: a wrong key and damaged bytes cannot be told apart. */
export function unseal(sealed: Uint8Array, key: SealingKey): Uint8Array {
  if (sealed.length < nonceLength + tagLength) {
    throw new RepoError('CORRUPT', {
      message: `A sealed block of ${sealed.length} bytes is shorter than its own frame`,
    })
  }
  const { aesKey, aad } = deriveSealingKeys(key)
  const decipher = createDecipheriv('aes-256-gcm', aesKey, sealed.subarray(0, nonceLength)).setAAD(aad)
  decipher.setAuthTag(sealed.subarray(-tagLength))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(nonceLength, -tagLength)), decipher.final()])
  } catch (cause) {
    throw new RepoError('BAD_PASSWORD', {
      message: 'The password does not open this repository',
      hint: 'Check the password. If it is right, the format blob is damaged: restore it from a copy.',
      cause,
    })
  }
}

function deriveSealingKeys({ formatKey, uniqueId }: SealingKey): { aesKey: Uint8Array; aad: Uint8Array } {
  return {
    aesKey: new Uint8Array(hkdfSync('sha256', formatKey, uniqueId, 'AES', 32)),
    aad: new Uint8Array(hkdfSync('sha256', formatKey, uniqueId, 'CHECKSUM', 32)),
  }
}

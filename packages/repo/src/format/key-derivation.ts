import { hkdfSync, pbkdf2, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { RepoError } from '../errors/repo-error.ts'
import type { RepositoryFormat } from './format-parameters.ts'

/** How a password becomes the format key, by the name that `kopia.repository` stores. */
export const keyAlgorithms = ['scrypt-65536-8-1', 'pbkdf2-sha256-600000'] as const
/** One of `keyAlgorithms`. */
export type KeyAlgorithm = (typeof keyAlgorithms)[number]

/** Every key of an opened repository; none of them is ever logged. */
export interface RepositoryKeys {
  /** Opens `kopia.repository` and `kopia.blobcfg`. */
  format: Uint8Array
  /** Key of the content hash. */
  hash: Uint8Array
  /** Root key of contents and whole blobs. */
  encryption: Uint8Array
  /** Seals `kopia.maintenance`. */
  maintenance: Uint8Array
  /** Guards entries of the local cache. */
  cache: Uint8Array
}

const keyLength = 32
const shortestSalt = 16
const scryptAsync: (
  password: Uint8Array,
  salt: Uint8Array,
  length: number,
  options: { N: number; r: number; p: number; maxmem: number },
) => Promise<Buffer> = promisify(scrypt)
const pbkdf2Async = promisify(pbkdf2)

/**
 * Derives the format key from the password. Takes about 0.2 s and, for scrypt, 64 MiB.
 * Throws `UNSUPPORTED_FORMAT` for an unknown algorithm and `CORRUPT` for a short salt.
 */
export async function deriveFormatKey(
  password: string,
  uniqueId: Uint8Array,
  algorithm: string,
): Promise<Uint8Array> {
  if (uniqueId.length < shortestSalt) {
    throw new RepoError('CORRUPT', {
      message: `The repository's unique id has ${uniqueId.length} bytes, fewer than 16`,
    })
  }
  const secret = Buffer.from(password, 'utf8')
  switch (algorithm) {
    case 'scrypt-65536-8-1':
      return scryptAsync(secret, uniqueId, keyLength, { N: 65536, r: 8, p: 1, maxmem: 96 * 1024 * 1024 })
    case 'pbkdf2-sha256-600000':
      return pbkdf2Async(secret, uniqueId, 600_000, keyLength, 'sha256')
    default:
      throw new RepoError('UNSUPPORTED_FORMAT', {
        message: `The repository derives its key by ${JSON.stringify(algorithm)}, which is not supported`,
        hint: `Supported: ${keyAlgorithms.join(', ')}.`,
      })
  }
}

/** Derives a key for one purpose from the root key of the repository. */
export function derivePurposeKey(
  root: Uint8Array,
  uniqueId: Uint8Array,
  purpose: { name: string; length: number },
): Uint8Array {
  return hkdf(root, uniqueId, purpose)
}

/** All keys that hang on an opened format block. */
export function deriveRepositoryKeys(
  format: RepositoryFormat,
  formatKey: Uint8Array,
  uniqueId: Uint8Array,
): RepositoryKeys {
  const changeable = format.enablePasswordChange
  return {
    format: formatKey,
    hash: format.secret,
    encryption: deriveEncryptionSecret(format.masterKey),
    maintenance: derivePurposeKey(changeable ? format.masterKey : formatKey, uniqueId, {
      name: 'maintenance schedule',
      length: keyLength,
    }),
    cache: derivePurposeKey(changeable ? format.secret : formatKey, uniqueId, {
      name: 'local-cache-integrity',
      length: 16,
    }),
  }
}

/** The root of content and blob encryption. The purpose sits in the salt here, unlike everywhere else. */
export function deriveEncryptionSecret(masterKey: Uint8Array): Uint8Array {
  return hkdf(masterKey, Buffer.from('encryption'), { name: '', length: keyLength })
}

function hkdf(key: Uint8Array, salt: Uint8Array, purpose: { name: string; length: number }): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, salt, purpose.name, purpose.length))
}

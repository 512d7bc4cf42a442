import { createHmac, createSecretKey } from 'node:crypto'
import { createBLAKE2b, createBLAKE2s, createBLAKE3, type IHasher } from 'hash-wasm'
import { RepoError } from '../errors/repo-error.ts'
import { deriveBlake3Key } from './blake3-derive-key.ts'

/** A keyed hash that names contents. Synchronous; one instance serves any number of calls, one after the other. */
export interface ContentHash {
  readonly name: string
  /** Bytes of every result. */
  readonly length: number
  /** The hash of `data` in a fresh array. */
  hash(data: Uint8Array): Uint8Array
}

const blake3KeyLength = 32

/** What differs between the algorithms: `length` keeps the leading bytes of what `open` computes. */
interface HashAlgorithm {
  readonly length: number
  open(secret: Uint8Array): Promise<(data: Uint8Array) => Uint8Array>
}

const algorithms: Readonly<Record<string, HashAlgorithm>> = {
  'BLAKE2B-256': { length: 32, open: blake2b256 },
  'BLAKE2B-256-128': { length: 16, open: blake2b256 },
  'BLAKE2S-128': { length: 16, open: secret => overWasm(createBLAKE2s(128, secret)) },
  'BLAKE2S-256': { length: 32, open: secret => overWasm(createBLAKE2s(256, secret)) },
  'BLAKE3-256': { length: 32, open: blake3 },
  'BLAKE3-256-128': { length: 16, open: blake3 },
  'HMAC-SHA224': { length: 28, open: secret => hmac('sha224', secret) },
  'HMAC-SHA256': { length: 32, open: secret => hmac('sha256', secret) },
  'HMAC-SHA256-128': { length: 16, open: secret => hmac('sha256', secret) },
  'HMAC-SHA3-224': { length: 28, open: secret => hmac('sha3-224', secret) },
  'HMAC-SHA3-256': { length: 32, open: secret => hmac('sha3-256', secret) },
}

/** The names of all hashes that Kopia 0.22 knows, sorted. */
export const hashNames: readonly string[] = Object.keys(algorithms)

/** The hash of new repositories, which is Kopia's default. */
export const defaultHashName = 'BLAKE2B-256-128'

/**
 * Opens the hash of a repository. `secret` is the repository's hash secret.
 * Throws `UNSUPPORTED_FORMAT` for a name that is not in `hashNames`, and `INVALID_ARGUMENT` for a secret longer
 * than the algorithm takes.
 */
export async function createContentHash(name: string, secret: Uint8Array): Promise<ContentHash> {
  const algorithm = Object.hasOwn(algorithms, name) ? algorithms[name] : undefined
  if (algorithm === undefined) {
    throw new RepoError('UNSUPPORTED_FORMAT', {
      message: `The hash algorithm "${name}" is unknown`,
      hint: `known are ${hashNames.join(', ')}`,
    })
  }
  const { length } = algorithm
  const full = await openKeyed(name, algorithm, secret)
  return {
    name,
    length,
    hash(data) {
      const digest = full(data)
      return digest.length === length ? digest : digest.slice(0, length)
    },
  }
}

async function openKeyed(name: string, algorithm: HashAlgorithm, secret: Uint8Array) {
  try {
    return await algorithm.open(secret)
  } catch (cause) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `A secret of ${secret.length} bytes is not usable with ${name}`,
      hint: 'the hash secret of a repository has 32 bytes',
      cause,
    })
  }
}

// The digest length is part of BLAKE2's parameter block, so BLAKE2B-256-128 is 32 bytes cut to 16 and never a
// 16-byte BLAKE2b.
function blake2b256(secret: Uint8Array) {
  return overWasm(createBLAKE2b(256, secret))
}

function blake3(secret: Uint8Array) {
  const key =
    secret.length < blake3KeyLength
      ? deriveBlake3Key('kopia blake3 derived key v1', secret)
      : secret.subarray(0, blake3KeyLength)
  return overWasm(createBLAKE3(256, key))
}

async function overWasm(opening: Promise<IHasher>) {
  const hasher = await opening
  return (data: Uint8Array) => hasher.init().update(data).digest('binary')
}

async function hmac(digest: string, secret: Uint8Array) {
  const key = createSecretKey(secret)
  return (data: Uint8Array): Uint8Array => createHmac(digest, key).update(data).digest()
}

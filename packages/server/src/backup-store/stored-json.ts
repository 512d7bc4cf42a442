import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { isObjectStoreError, ObjectStoreError } from '@lateen/plugin'
import { jsonDepth } from './json-depth.ts'

const mebi = 1 << 20

/** How much of a file is taken in before it counts as hostile: a bucket may have been written by others. */
export interface JsonLimits {
  /** Bytes of the text, decompressed. */
  readonly bytes: number
  /** How many times larger than what is stored it may be, once it has more than `ratioFrom` bytes. Deflate reaches 1032. */
  readonly ratio: number
  readonly ratioFrom: number
  /** Brackets in brackets. Readers and writers of deeper ones run out of stack. */
  readonly depth: number
}

/** A text is held in memory, and its values beside it: room for some million rows. */
export const defaultJsonLimits: JsonLimits = {
  bytes: 128 * mebi,
  ratio: 500,
  ratioFrom: 8 * mebi,
  depth: 200,
}

/** One object of the cluster, which takes 1.5 MiB. Many of them are read at the same time. */
export const objectLimits: JsonLimits = { ...defaultJsonLimits, bytes: 8 * mebi }

/** The volumes of one backup, some 2 KiB each. Those of many backups are read at the same time. */
export const volumesLimits: JsonLimits = { ...defaultJsonLimits, bytes: 32 * mebi }

/** A file of the bucket that is JSON. */
export interface StoredJson {
  /** For messages. */
  key: string
  stored: Readable
  compressed: boolean
  limits: JsonLimits
  signal: AbortSignal | undefined
}

/** The value of a file. Throws STORE_FAULT for one that is damaged or goes beyond the limits, what the store throws, and the signal's reason. */
export async function readStoredJson(file: StoredJson): Promise<unknown> {
  const text = await readText(file)
  const { key, limits } = file
  const depth = jsonDepth(text)
  if (depth > limits.depth) throw damaged(key, `is nested ${depth} deep, more than ${limits.depth}`)
  try {
    return JSON.parse(text.toString())
  } catch (cause) {
    throw damaged(key, 'is not JSON', cause)
  }
}

async function readText({ key, stored, compressed, limits, signal }: StoredJson): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  const gunzip = compressed ? createGunzip() : undefined
  const collect = async (source: AsyncIterable<Buffer>) => {
    for await (const piece of source) {
      length += piece.length
      const taken = gunzip?.bytesWritten ?? length
      if (length > limits.bytes) throw damaged(key, `is longer than ${limits.bytes} bytes`)
      if (length > limits.ratioFrom && length > limits.ratio * taken) {
        throw damaged(key, `is a bomb: ${taken} bytes decompress to ${length} and more`)
      }
      pieces.push(piece)
    }
  }
  try {
    const ending = signal === undefined ? {} : { signal }
    if (gunzip !== undefined) await pipeline(stored, gunzip, collect, ending)
    else await pipeline(stored, collect, ending)
  } catch (error) {
    signal?.throwIfAborted()
    throw isObjectStoreError(error) ? error : damaged(key, 'cannot be decompressed', error)
  }
  return Buffer.concat(pieces)
}

/** The error for a file that is not what it should be. */
export function damaged(key: string, what: string, cause?: unknown): ObjectStoreError {
  return new ObjectStoreError('STORE_FAULT', {
    reason: `the object ${key} ${what}`,
    hint: 'It was damaged or not written by a backup; restore it from a copy of the bucket or delete it',
    retryable: false,
    cause,
  })
}

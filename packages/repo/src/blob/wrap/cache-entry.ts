import { createHmac, timingSafeEqual } from 'node:crypto'
import type { BlobRange } from '../storage.ts'

// An entry is the body in blocks, each followed by its authentication code, so that a small range of a big blob can be
// checked without reading all of it. The codes cover the body's length: an entry cut at a block is found out too.
const blockLength = 65_536
const macLength = 32

/** What an entry's codes are made with. */
export interface CacheEntrySeal {
  /** Secret of the repository, so that nobody else can forge or move entries. */
  readonly key: Uint8Array
  /** What the entry is the body of; an entry under another name is not accepted. */
  readonly name: string
}

/** The bytes of the file for a body. */
export function serializeCacheEntry(seal: CacheEntrySeal, body: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let offset = 0; offset < body.length || offset === 0; offset += blockLength) {
    const block = body.subarray(offset, offset + blockLength)
    pieces.push(block, macOf(seal, { total: body.length, index: offset / blockLength, block }))
  }
  return pieces
}

/** The length of the body in a file of this size, or undefined when no entry has that size. */
export function bodyLengthOf(fileLength: number): number | undefined {
  const blocks = Math.ceil(fileLength / (blockLength + macLength))
  const total = fileLength - blocks * macLength
  return total >= 0 && blocks >= 1 && blockCount(total) === blocks ? total : undefined
}

/** Which bytes of the file hold a range of a body of `total` bytes, codes included. */
export function fileRangeOf({ offset, length }: BlobRange, total: number): BlobRange {
  const { first, last } = blocksOf({ offset, length })
  const start = first * (blockLength + macLength)
  const end = Math.min((last + 1) * (blockLength + macLength), fileLengthOf(total))
  return { offset: start, length: Math.max(0, end - start) }
}

/**
 * The range from the bytes that `fileRangeOf` names, or undefined when a code does not fit: then entry, name or key are not what
 * was written.
 */
export function parseCacheEntry(
  seal: CacheEntrySeal,
  bytes: Uint8Array,
  wanted: BlobRange & { readonly total: number },
): Uint8Array | undefined {
  const { first, last } = blocksOf(wanted)
  const { total } = wanted
  const body = Buffer.allocUnsafeSlow(wanted.length)
  for (let index = first; index <= last; index++) {
    const at = (index - first) * (blockLength + macLength)
    const size = Math.min(blockLength, total - index * blockLength)
    const block = bytes.subarray(at, at + size)
    const mac = bytes.subarray(at + size, at + size + macLength)
    if (mac.length !== macLength || !timingSafeEqual(mac, macOf(seal, { total, index, block })))
      return undefined
    const skipped = Math.max(0, wanted.offset - index * blockLength)
    const end = wanted.offset + wanted.length - index * blockLength
    body.set(block.subarray(skipped, end), index * blockLength + skipped - wanted.offset)
  }
  return body
}

function blocksOf({ offset, length }: BlobRange): { first: number; last: number } {
  return {
    first: Math.floor(offset / blockLength),
    last: Math.floor((offset + Math.max(length, 1) - 1) / blockLength),
  }
}

function blockCount(total: number): number {
  return Math.max(1, Math.ceil(total / blockLength))
}

function fileLengthOf(total: number): number {
  return total + blockCount(total) * macLength
}

function macOf(
  { key, name }: CacheEntrySeal,
  part: { total: number; index: number; block: Uint8Array },
): Buffer {
  const { total, index, block } = part
  return createHmac('sha256', key).update(`${name}\0${total}\0${index}\0`).update(block).digest()
}

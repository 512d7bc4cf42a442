import { ftruncateSync, write, writeSync } from 'node:fs'
import { RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import type { ObjectReader } from '../object/object-reader.ts'

/** How an object's bytes reach an open file. */
export interface WriteObjectOptions {
  /** What the snapshot says of the file's size; the object must have as many bytes. */
  size: number
  /** Leaves blocks of zeros unwritten. Only for an empty file. */
  sparse: boolean
  signal?: AbortSignal | undefined
  onBytes?: (bytes: number) => void
}

const block = 4096
const zeros = Buffer.alloc(block)
// A call through the thread pool costs more than writing this much into the page cache.
const synchronousUpTo = 128 * 1024

/**
 * Writes an object from the start of an open file on, one chunk in memory at a time. Throws CORRUPT when the object has
 * another length than the snapshot says, and what reading and writing throw.
 */
export async function writeObject(
  fd: number,
  reader: ObjectReader,
  options: WriteObjectOptions,
): Promise<void> {
  if (reader.length !== options.size) throw wrongLength(reader, options.size)
  if (options.sparse) ftruncateSync(fd, options.size)
  let position = 0
  for await (const piece of reader.stream({ signal: options.signal })) {
    throwIfCancelled(options.signal)
    if (options.sparse) await writeNonZero(fd, piece, position)
    else await writeAll(fd, piece, position)
    position += piece.length
    options.onBytes?.(piece.length)
  }
}

/** The error for an object that has another length than the entry that names it. */
export function wrongLength({ id, length }: Pick<ObjectReader, 'id' | 'length'>, size: number): RepoError {
  const message = `its data has ${length} bytes where the snapshot says ${size}`
  return new RepoError('CORRUPT', { message, objectId: id, hint: 'run verify to see what else is affected' })
}

/** The stretches of a piece that hold anything but zeros, cut at multiples of the block size in the file. */
export function* nonZeroStretches(
  piece: Uint8Array,
  position: number,
): Generator<[start: number, end: number]> {
  let start = -1
  let at = 0
  while (at < piece.length) {
    const end = Math.min(piece.length, at + block - ((position + at) % block))
    const empty = zeros.compare(piece, at, end, 0, end - at) === 0
    if (empty && start >= 0) {
      yield [start, at]
      start = -1
    } else if (!empty && start < 0) {
      start = at
    }
    at = end
  }
  if (start >= 0) yield [start, piece.length]
}

async function writeNonZero(fd: number, piece: Uint8Array, position: number): Promise<void> {
  for (const [start, end] of nonZeroStretches(piece, position)) {
    await writeAll(fd, piece.subarray(start, end), position + start)
  }
}

async function writeAll(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const rest = done === 0 ? bytes : bytes.subarray(done)
    const at = position + done
    done +=
      rest.length <= synchronousUpTo
        ? writeSync(fd, rest, 0, rest.length, at)
        : await writeLarge(fd, rest, at)
  }
}

function writeLarge(fd: number, bytes: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, position, (error, written) =>
      error ? reject(error) : resolve(written),
    )
  })
}

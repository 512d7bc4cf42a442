import { constants, fstatSync, openSync, readSync } from 'node:fs'
import type { ReadFailure } from './thread-messages.ts'

// Neither follows a symlink nor waits for the writer of a fifo that has taken the file's place.
/** How files of the source are opened. */
export const sourceOpenFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Opens a file of the source. Throws system errors, and for what is no regular file. */
export function openSource(path: string | Uint8Array): number {
  return openSync(typeof path === 'string' ? path : Buffer.from(path), sourceOpenFlags)
}

/** Throws when the open file is no regular one. */
export function requireRegular(descriptor: number): void {
  if (!fstatSync(descriptor).isFile()) throw new Error('it is not a regular file any more')
}

/**
 * Fills the buffer from the start of a file and returns how much there was. A read that returns less than asked for after
 * `expected` bytes is the end of a regular file.
 */
export function readUpTo(descriptor: number, buffer: Uint8Array, expected: number): number {
  let length = 0
  while (length < buffer.length) {
    const got = readSync(descriptor, buffer, length, buffer.length - length, null)
    length += got
    if (got === 0 || (length >= expected && length < buffer.length)) break
  }
  return length
}

/** What the calls return, or what can be told to another thread of how reading failed. */
export function attemptReading<T>(calls: () => T): { value: T } | { failure: ReadFailure } {
  try {
    return { value: calls() }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { failure: { message, code: error instanceof Error && 'code' in error ? String(error.code) : '' } }
  }
}

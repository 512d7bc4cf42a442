import { corrupt, type RepoError } from '../errors/repo-error.ts'

/** The decompressors of `node:zlib` as far as they are used here. */
export type SyncInflate = (
  stream: Uint8Array,
  options: { maxOutputLength: number; chunkSize: number },
) => Buffer

/** The size of the pieces `node:zlib` works in: no larger than needed, since each call allocates one. */
export function workingChunk(expectedLength: number): number {
  return Math.min(Math.max(expectedLength, 1 << 10), 1 << 16)
}

/** Decompresses with a decompressor of `node:zlib`. Throws `CORRUPT` for a bad stream or more than `maxLength` bytes. */
export function inflateWith(
  inflate: SyncInflate,
  stream: Uint8Array,
  { family, maxLength }: { family: string; maxLength: number },
): Uint8Array {
  const decompress = () =>
    inflate(stream, { maxOutputLength: Math.max(maxLength, 1), chunkSize: workingChunk(4 * stream.length) })
  let bytes: Buffer
  try {
    bytes = decompress()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE') {
      throw tooLarge(family, maxLength)
    }
    throw badStream(family, `${stream.length} bytes cannot be decompressed`, cause)
  }
  if (bytes.length > maxLength) throw tooLarge(family, maxLength)
  return bytes
}

/** The error for a stream that holds more than its reader allows. */
export function tooLarge(family: string, maxLength: number): RepoError {
  return corrupt(`The ${family} data decompresses to more than the ${maxLength} bytes allowed`, {
    hint: 'no content of a repository is that long: the data is damaged or was made to exhaust memory',
  })
}

/** The error for a stream that is not what its family demands. */
export function badStream(family: string, reason: string, cause?: unknown): RepoError {
  return corrupt(`The ${family} data is damaged: ${reason}`, { cause })
}

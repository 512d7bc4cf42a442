import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { ArchiveError } from './archive-error.ts'
import type { ArchiveLimits } from './archive-limits.ts'

/** What `decompress` reads. */
export interface DecompressOptions {
  stream: AsyncIterable<Uint8Array>
  limits: Pick<ArchiveLimits, 'decompressedBytes' | 'ratio' | 'ratioFrom'>
  signal: AbortSignal
}

const chunkBytes = 64 * 1024

/**
 * The content of a gzip stream of one or several members. Throws ArchiveError, what the stream throws, and the signal's reason. The
 * stream is closed at the end and when nobody reads on.
 */
export async function* decompress({
  stream,
  limits,
  signal,
}: DecompressOptions): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip({ chunkSize: chunkBytes })
  const feeding = pipeline(Readable.from(stream, { objectMode: false }), gunzip, { signal })
  // Reading reports the failure, whichever side it is on.
  feeding.catch(() => undefined)
  let bytes = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      bytes += chunk.length
      checkSize({ bytes, compressed: gunzip.bytesWritten, limits })
      yield chunk
    }
  } catch (error) {
    signal.throwIfAborted()
    throw archiveError(error, bytes)
  } finally {
    gunzip.destroy()
  }
}

interface Sizes {
  bytes: number
  compressed: number
  limits: DecompressOptions['limits']
}

function checkSize({ bytes, compressed, limits }: Sizes): void {
  if (bytes > limits.decompressedBytes) {
    throw new ArchiveError(
      'ARCHIVE_TOO_LARGE',
      `it has more than ${limits.decompressedBytes} bytes when decompressed`,
    )
  }
  if (bytes > limits.ratioFrom && bytes > limits.ratio * compressed) {
    throw new ArchiveError(
      'ARCHIVE_BOMB',
      `${compressed} bytes of it decompress to more than ${bytes}, over ${limits.ratio} times as many`,
    )
  }
}

/** What an error of zlib means; others are of the stream, and stay what they are. */
function archiveError(error: unknown, bytes: number): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined || !code.startsWith('Z_')) return error
  if (code === 'Z_BUF_ERROR') {
    return new ArchiveError('ARCHIVE_TRUNCATED', `it breaks off after ${bytes} decompressed bytes`, {
      cause: error,
    })
  }
  if (bytes === 0 && message === 'incorrect header check') {
    return new ArchiveError('ARCHIVE_NOT_GZIP', 'it is not compressed with gzip', { cause: error })
  }
  return new ArchiveError('ARCHIVE_DAMAGED', `${message}, after ${bytes} decompressed bytes`, {
    cause: error,
  })
}

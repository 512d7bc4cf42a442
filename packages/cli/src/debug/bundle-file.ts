import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

/** A file of a bundle. Its content is read once. */
export interface BundleFile {
  /** Below the bundle's folder. */
  readonly path: string
  readonly content: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>
}

export interface BundleOptions {
  /** The folder that all files are below. */
  readonly folder: string
  /** Milliseconds since 1970. */
  readonly now: number
  readonly signal: AbortSignal
}

/** The bytes of a tar.gz with these files. Each goes through a file on disk first, because a log may be longer than memory. */
export async function* bundleBytes(
  files: AsyncIterable<BundleFile>,
  options: BundleOptions,
): AsyncGenerator<Uint8Array> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-debug-'))
  try {
    const gzip = createGzip()
    const packing = pipeline(Readable.from(tarOf(files, scratch, options)), gzip)
    // Whoever reads gzip hears of the failure, too.
    packing.catch(() => {})
    yield* gzip
    await packing
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function* tarOf(
  files: AsyncIterable<BundleFile>,
  scratch: string,
  { folder, now, signal }: BundleOptions,
): AsyncGenerator<Uint8Array> {
  const { tarBlock, tarHeader, tarPadding } = await import('@lateen/server')
  const spool = path.join(scratch, 'content')
  const mtime = Math.floor(now / 1000)
  for await (const file of files) {
    await pipeline(Readable.from(file.content), createWriteStream(spool, { mode: 0o600 }), { signal })
    const { size } = await stat(spool)
    yield tarHeader({ path: `${folder}/${file.path}`, size, mtime })
    yield* createReadStream(spool)
    yield Buffer.alloc(tarPadding(size))
  }
  yield Buffer.alloc(2 * tarBlock)
}

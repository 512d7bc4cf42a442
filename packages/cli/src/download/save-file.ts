import { createWriteStream } from 'node:fs'
import { link, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CliError } from '../cli-error.ts'

/** Where to put bytes. */
export interface SaveOptions {
  readonly file: string
  /** Whether a file of this name may be replaced. */
  readonly force: boolean
}

/**
 * Writes bytes to a file that appears under its name only when it is whole; a device or pipe is written to as it is.
 * Throws a CliError when the file exists and may not be replaced, or cannot be written, and what the bytes throw.
 */
export async function saveFile(bytes: AsyncIterable<Uint8Array>, options: SaveOptions): Promise<void> {
  const { file, force } = options
  const existing = await stat(file).catch(() => undefined)
  if (existing !== undefined && !force) throw exists(file)
  if (existing?.isDirectory())
    throw new CliError('FILE', `${file} is a folder`, { hint: 'name a file in it' })
  if (existing !== undefined && !existing.isFile()) {
    await pipeline(Readable.from(bytes), createWriteStream(file))
    return
  }
  const folder = await mkdtemp(path.join(path.dirname(file), '.lateen-download-')).catch(cause => {
    throw new CliError('FILE', `${file} cannot be written: ${cause.message}`, { cause })
  })
  try {
    const unfinished = path.join(folder, 'unfinished')
    await pipeline(Readable.from(bytes), createWriteStream(unfinished, { mode: 0o600, flush: true }))
    await (force ? rename(unfinished, file) : putUnderFreeName(unfinished, file))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A rename would replace what came to be there meanwhile; a link does not. */
async function putUnderFreeName(unfinished: string, file: string): Promise<void> {
  await link(unfinished, file).catch(async (cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EEXIST') throw exists(file)
    // File systems without links.
    await rename(unfinished, file)
  })
}

function exists(file: string): CliError {
  return new CliError('EXISTS', `${file} exists already`, {
    hint: 'add --force to replace it, or name another file with --output',
  })
}

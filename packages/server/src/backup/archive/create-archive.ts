import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import path from 'node:path'
import { scratchError } from '../../scratch/scratch-error.ts'
import type { ArchiveWriter, FinishedArchive } from './archive.ts'
import { BlockGzip } from './block-gzip.ts'
import { tarBlock, tarHeader, tarPadding } from './tar-header.ts'

/** What an archive needs. */
export interface ArchiveOptions {
  /** A folder that exists and that only this backup uses. */
  scratch: string
  /** Milliseconds since 1970: the time that all entries carry. */
  modified: number
  signal: AbortSignal
}

/** The version of the layout that is written, and how an archive tells it. */
const versionEntry = { path: 'metadata/version', content: Buffer.from('1.1.0\n') }

const zeros = Buffer.alloc(2 * tarBlock)
const done = Promise.resolve()

/**
 * Begins the archive of a backup. Its methods throw ScratchError when the file cannot be written, and the signal's reason.
 * Disposing removes the file.
 */
export async function createArchive(options: ArchiveOptions): Promise<ArchiveWriter> {
  const file = path.join(options.scratch, 'contents.tar.gz')
  return new ScratchArchive(options, file, await begin(file))
}

async function begin(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'w', 0o600)
  } catch (error) {
    throw scratchError(error, file)
  }
}

class ScratchArchive implements ArchiveWriter {
  readonly #options: ArchiveOptions
  readonly #path: string
  readonly #file: FileHandle
  readonly #gzip: BlockGzip
  readonly #mtime: number
  #bytes = 0
  #ended: Promise<FinishedArchive> | undefined

  constructor(options: ArchiveOptions, path: string, file: FileHandle) {
    this.#options = options
    this.#path = path
    this.#file = file
    this.#gzip = new BlockGzip(bytes => this.#append(bytes))
    this.#mtime = Math.floor(options.modified / 1000)
    this.#write(versionEntry.path, versionEntry.content)
  }

  add(path: string, content: Uint8Array): Promise<void> {
    try {
      this.#options.signal.throwIfAborted()
      if (this.#ended !== undefined) throw new TypeError(`${path} comes after the end of the archive`)
      this.#write(path, content)
      return this.#gzip.ready() ?? done
    } catch (error) {
      return Promise.reject(error)
    }
  }

  finish(): Promise<FinishedArchive> {
    this.#ended ??= this.#end()
    return this.#ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gzip.idle()
    await this.#file.close()
    await rm(this.#path, { force: true })
  }

  /** Takes all of an entry before anything is waited for, so that entries never mix. */
  #write(path: string, content: Uint8Array): void {
    const size = content.length
    this.#gzip.write(tarHeader({ path, size, mtime: this.#mtime }))
    this.#gzip.write(content)
    this.#gzip.write(zeros.subarray(0, tarPadding(size)))
  }

  async #end(): Promise<FinishedArchive> {
    this.#options.signal.throwIfAborted()
    this.#gzip.write(zeros)
    await this.#gzip.end()
    return { path: this.#path, bytes: this.#bytes, open: () => createReadStream(this.#path) }
  }

  async #append(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length; ) {
        const { bytesWritten } = await this.#file.write(bytes, at)
        at += bytesWritten
        this.#bytes += bytesWritten
      }
    } catch (error) {
      throw scratchError(error, this.#path)
    }
  }
}

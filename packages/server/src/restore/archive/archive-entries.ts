import { ArchiveError, quoted } from './archive-error.ts'
import { type ArchiveLimits, defaultArchiveLimits } from './archive-limits.ts'
import { decompress } from './decompress.ts'
import type { TarEntry } from './tar-entry.ts'
import { TarParser, type TarSink } from './tar-parser.ts'

/** A file of an archive. */
export interface ArchiveEntry {
  path: string
  content: Buffer
}

/**
 * The files of a tar.gz, in their order, one in memory at a time. Throws ArchiveError, what the stream throws, and the signal's
 * reason.
 */
export async function* archiveEntries(
  stream: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  limits: ArchiveLimits = defaultArchiveLimits,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  const entries = new GatheredEntries(limits)
  const parser = new TarParser(entries)
  for await (const chunk of decompress({ stream, limits, signal })) {
    parser.push(chunk)
    yield* entries.take()
  }
  parser.finish()
  yield* entries.take()
}

class GatheredEntries implements TarSink {
  readonly #limits: ArchiveLimits
  #complete: ArchiveEntry[] = []
  #entry: TarEntry | undefined
  #parts: Buffer[] = []
  #count = 0

  constructor(limits: ArchiveLimits) {
    this.#limits = limits
  }

  take(): ArchiveEntry[] {
    const complete = this.#complete
    this.#complete = []
    return complete
  }

  begin(entry: TarEntry): void {
    const { entryBytes, entries, pathBytes } = this.#limits
    this.#count += 1
    if (entry.size > entryBytes || Buffer.byteLength(entry.path) > pathBytes || this.#count > entries) {
      throw new ArchiveError('ARCHIVE_TOO_LARGE', `${quoted(entry.path)} is more than an archive may have`)
    }
    this.#entry = entry
    this.#parts = []
  }

  content(bytes: Buffer): void {
    // What is handed in is part of a larger piece that is used again.
    this.#parts.push(Buffer.from(bytes))
  }

  end(): void {
    if (this.#entry?.type !== 'file') return
    this.#complete.push({ path: this.#entry.path, content: Buffer.concat(this.#parts) })
  }
}

import { type ObjectId, objectOfContent } from '../object/object-id.ts'
import { objectOfChunks } from '../object/object-writer.ts'
import type { SealedTable } from '../threads/sealed-table.ts'
import { chunksOfTable } from './chunks-of-table.ts'
import { type FileWriteOptions, type StoredFile, smallFileLimit, sourceFailure } from './upload-file.ts'
import type { UploadRun } from './upload-run.ts'
import type { SealedBatch } from './upload-threads.ts'
import { HeldFolders } from './walk/held-folders.ts'
import { reached, type SourceEntry, type SourceReadError } from './walk/source-entry.ts'

/** What became of a file; undefined when the upload ended before. */
export type FileOutcome = { stored: StoredFile } | { error: SourceReadError } | 'grown' | undefined

/** A small file that waits for a thread. */
export interface SmallFile {
  entry: SourceEntry
  options: FileWriteOptions
  /** Called once. Must not throw. */
  settle(outcome: FileOutcome): void
}

interface Batch {
  files: SmallFile[]
  bytes: number
  /** Files whose outcome was told. */
  settled: number
}

const filesPerBatch = 256
const bytesPerBatch = 2 << 20
// A queued file holds its folder, and in some trees each file has one of its own.
const mostHeldFolders = 512

/** Small files on their way through the threads, many at once: a message for each would cost more than the file. */
export class SmallFiles {
  readonly #run: UploadRun
  /** Those that are split and compressed alike travel together. */
  readonly #batches = new Map<string, Batch>()
  readonly #inThreads = new Set<Promise<void>>()
  /** Those of files that are not settled. */
  readonly #folders = new HeldFolders()
  #fewerFolders: Promise<void> | undefined
  #walks = 0
  #awaited = 0

  constructor(run: UploadRun) {
    this.#run = run
  }

  /** Queues a file. A promise when it is better to wait before the next one. */
  add(file: SmallFile): Promise<void> | undefined {
    const { splitter = '', compressor = '' } = file.options
    const kind = `${splitter} ${compressor}`
    const batch = this.#batches.get(kind) ?? { files: [], bytes: 0, settled: 0 }
    this.#batches.set(kind, batch)
    batch.files.push(file)
    batch.bytes += file.entry.size
    this.#folders.hold(file.entry.folder)
    const isWhole = batch.files.length >= filesPerBatch || batch.bytes >= bytesPerBatch
    if (isWhole || this.#isLast) {
      this.#batches.delete(kind)
      this.#send(batch)
    }
    if (this.#folders.count > mostHeldFolders) return this.#untilFewerFolders()
    return isWhole && this.#run.threads.isFull ? Promise.race(this.#inThreads) : undefined
  }

  /** Nobody sends the file later: who would is waiting for it, or has ended. */
  get #isLast(): boolean {
    return this.#walks === 0 || this.#awaited > 0
  }

  /** Sends what is queued. */
  flush(): void {
    for (const batch of this.#batches.values()) this.#send(batch)
    this.#batches.clear()
  }

  /** Counts a folder whose entries are being looked at. When the last one has ended, hardly any more files come. */
  walking(): Disposable {
    this.#walks++
    return {
      [Symbol.dispose]: () => {
        this.#walks--
        if (this.#walks === 0) this.flush()
      },
    }
  }

  /** Sends what is queued, and until disposed whatever comes: somebody who is counted waits for it. */
  awaiting(): Disposable {
    this.#awaited++
    this.flush()
    return {
      [Symbol.dispose]: () => {
        this.#awaited--
      },
    }
  }

  // Walks that come meanwhile wait too, and send nothing: the next files are to make whole batches again.
  #untilFewerFolders(): Promise<void> {
    this.#fewerFolders ??= this.#releaseFolders().finally(() => {
      this.#fewerFolders = undefined
    })
    return this.#fewerFolders
  }

  async #releaseFolders(): Promise<void> {
    this.flush()
    while (this.#folders.count > mostHeldFolders / 2 && this.#inThreads.size > 0) {
      await Promise.race(this.#inThreads)
    }
  }

  #send(batch: Batch): void {
    const sent = this.#seal(batch).catch(error => {
      this.#run.fail(error)
      for (const file of batch.files.slice(batch.settled)) this.#settle(file, undefined)
    })
    this.#inThreads.add(sent)
    void sent.then(() => this.#inThreads.delete(sent))
  }

  async #seal(batch: Batch): Promise<void> {
    const { files } = batch
    const [first] = files
    if (first === undefined) return
    const { splitter = this.#run.target.repository.format.format.splitter, compressor } = first.options
    const sealed = await this.#run.threads.sealFiles({
      splitter,
      compressor: compressor || undefined,
      paths: files.map(({ entry }) => reached(entry)),
      sizes: files.map(({ entry }) => entry.size),
      limit: smallFileLimit,
    })
    await this.#settleAll(batch, sealed)
  }

  async #settleAll(batch: Batch, { table, counts, failures }: SealedBatch): Promise<void> {
    const failed = new Map(failures.map(({ at, failure }) => [at, failure]))
    let from = 0
    for (const [at, file] of batch.files.entries()) {
      const { entry, options } = file
      const count = counts[at] ?? 0
      const failure = failed.get(at)
      if (failure) this.#settle(file, { error: sourceFailure(entry, failure) })
      else if (count === 0) this.#settle(file, 'grown')
      else {
        const { obj, size } = storedFile(this.#run, { options, table, from, count })
        this.#run.progress.counts.bytesRead += size
        this.#settle(file, { stored: { obj: typeof obj === 'string' ? obj : await obj, size } })
      }
      batch.settled++
      from += count
    }
    this.#run.progress.tell()
  }

  #settle({ entry, settle }: SmallFile, outcome: FileOutcome): void {
    this.#folders.release(entry.folder)
    settle(outcome)
  }
}

function storedFile(
  run: UploadRun,
  part: { options: FileWriteOptions; table: SealedTable; from: number; count: number },
): { obj: ObjectId | Promise<ObjectId>; size: number } {
  const { options, table, from, count } = part
  if (count === 1) return { obj: objectOfContent(table.id(from)), size: table.originalLength(from) }
  const { chunks, size } = chunksOfTable(table, { from, count })
  const { splitter } = run.target.repository.format.format
  const written = { splitter, indexSplitter: splitter, ...options }
  return { obj: objectOfChunks(run.target.contents, chunks, written), size }
}

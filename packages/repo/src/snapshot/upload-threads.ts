import { longestLaneContent } from '../content/pack-lane.ts'
import { createSplitter } from '../splitter/splitter.ts'
import type { SealedTable } from '../threads/sealed-table.ts'
import { SealingThreads } from '../threads/sealing-threads.ts'
import type { FileJob, FilesJob, ReadFailure, SealedFiles, ThreadData } from '../threads/thread-messages.ts'
import type { UploadTarget } from './upload-options.ts'

/** What the threads of an upload work for. */
export interface UploadThreadsOptions {
  target: UploadTarget
  /** How many at most; 0 leaves all work to the main thread. */
  count: number
  /** Bytes to read before threads are worth their start; with 0 they do all. */
  from: number
  /** For calls to the repository. */
  signal: AbortSignal | undefined
  /** Told when a thread has died or the repository failed it. */
  onFailed(error: unknown): void
}

/** The contents of a batch of files and how many each file has. */
export type SealedBatch = { table: SealedTable } & Pick<SealedFiles, 'counts' | 'failures'>

/** The threads of one upload. They are started when there is enough to do for them. */
export class UploadThreads {
  readonly #options: UploadThreadsOptions
  /** What to call with the error that ends all jobs. */
  readonly #rejections = new Set<(error: unknown) => void>()
  #threads: SealingThreads | undefined
  readonly #short = new Map<string, boolean>()
  #stopped: { error: unknown } | undefined
  #bytes = 0

  constructor(options: UploadThreadsOptions) {
    this.#options = options
  }

  /** Counts bytes that are to be read; true when threads have been started that can read them. */
  wanted(bytes: number, splitter = this.#options.target.repository.format.format.splitter): boolean {
    this.#bytes += bytes
    if (this.#threads === undefined && this.#bytes >= this.#options.from && this.#isPossible) this.#start()
    return this.#threads !== undefined && this.#isShort(splitter)
  }

  /** True when small files are better left to the threads; until one of them is ready, the main thread is faster. */
  get started(): boolean {
    return this.#options.from === 0 || (this.#threads?.started ?? false)
  }

  /** True when no more batches should be made for now. */
  get isFull(): boolean {
    return this.#threads?.isFull ?? false
  }

  /** Reads a batch of files. Rejects when the upload ends before. */
  sealFiles(job: FilesJob): Promise<SealedBatch> {
    return this.#running(({ threads, resolve }) => {
      threads.sealFiles(job, { onFiles: (table, sealed) => resolve({ table, ...sealed }), onEnd() {} })
      return () => {}
    })
  }

  /**
   * Reads a file and tells of each chunk that is stored. What `onChunk` throws ends the job. Resolves at the end, with how
   * reading failed if it did.
   */
  sealFile(job: FileJob, onChunk: (table: SealedTable) => void): Promise<ReadFailure | undefined> {
    return this.#running<ReadFailure | undefined>(({ threads, resolve, reject }) => {
      const abandon = threads.sealFile(job, {
        onChunk(table) {
          try {
            onChunk(table)
          } catch (error) {
            reject(error)
          }
        },
        onEnd: failure => resolve(failure),
      })
      return abandon
    })
  }

  /** Ends all jobs with this error, and those that come later. */
  stop(error: unknown): void {
    this.#stopped ??= { error }
    for (const reject of [...this.#rejections]) reject(error)
  }

  /** Ends the threads; what they have finished is kept when asked for. */
  async end(options: { keep: boolean }): Promise<void> {
    await this.#threads?.end(options)
  }

  /** True when lanes have room for the chunks of a splitter. Throws `UNSUPPORTED_FORMAT` for an unknown one. */
  #isShort(splitter: string): boolean {
    const known = this.#short.get(splitter) ?? createSplitter(splitter).maxSegment <= longestLaneContent
    this.#short.set(splitter, known)
    return known
  }

  // Error correction makes sealed contents of unforeseen lengths, and costs so much that nobody chooses it for speed.
  get #isPossible(): boolean {
    const { count, target } = this.#options
    return count > 0 && !target.repository.format.format.ecc
  }

  #start(): void {
    const { target, count, signal, onFailed } = this.#options
    this.#threads = new SealingThreads({
      count,
      data: threadData(target),
      contents: target.contents,
      signal,
      onFailed: error => {
        onFailed(error)
        this.stop(error)
      },
    })
  }

  #running<T>(start: (job: StartedJob<T>) => () => void): Promise<T> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped.error)
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (this.#threads === undefined) throw new Error('No thread was wanted')
    let abandon = () => {}
    const end = (error: unknown) => {
      this.#rejections.delete(end)
      abandon()
      reject(error)
    }
    const finish = (value: T) => {
      this.#rejections.delete(end)
      resolve(value)
    }
    this.#rejections.add(end)
    abandon = start({ threads: this.#threads, resolve: finish, reject: end })
    return promise
  }
}

interface StartedJob<T> {
  threads: SealingThreads
  resolve(value: T): void
  reject(error: unknown): void
}

function threadData({ repository }: UploadTarget): ThreadData {
  const { format, keys } = repository.format
  return {
    hash: { name: format.hash, secret: keys.hash },
    encryption: { name: format.encryption, secret: keys.encryption },
    maxPackSize: format.maxPackSize,
  }
}

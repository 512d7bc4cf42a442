import { getCompileCacheDir } from 'node:module'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ContentWriter } from '../content/content-store.ts'
import type { NewContent, PackLane } from '../content/pack-lane.ts'
import { RepoError } from '../errors/repo-error.ts'
import { contentIdOf } from '../index-format/content-id.ts'
import { SealedTable } from './sealed-table.ts'
import type {
  FileJob,
  FilesJob,
  FromThread,
  ReadFailure,
  SealedFiles,
  ThreadData,
  ToThread,
} from './thread-messages.ts'
import { threadUrl } from './thread-url.ts'

/** What a job is told. The table is admitted: the writer knows every content in it. */
export interface JobListener {
  onFiles?(table: SealedTable, result: Pick<SealedFiles, 'counts' | 'failures'>): unknown
  onChunk?(table: SealedTable): unknown
  onEnd(failure?: ReadFailure): unknown
}

/** What a thread works for. */
export interface ThreadOptions {
  data: ThreadData
  contents: Pick<ContentWriter, 'openLane' | 'keeps'>
  signal: AbortSignal | undefined
  /** Told once when the thread has died or cannot go on; nothing more comes from it then. */
  onFailed(error: unknown): void
}

/** One thread as the main thread sees it. */
export class ThreadHandle {
  readonly #worker: Worker
  readonly #options: ThreadOptions
  readonly #lane: PackLane
  readonly #jobs = new Map<number, JobListener>()
  #lastJob = 0
  #deciding: Promise<void> = Promise.resolve()
  #recalled: PromiseWithResolvers<void> | undefined
  #failure: { error: unknown } | undefined
  /** Nothing more is admitted from now on. */
  #ending: { keep: boolean } | undefined
  #started = false
  /** The job that reads one large file. */
  #fileJob: number | undefined

  constructor(options: ThreadOptions) {
    this.#options = options
    this.#lane = options.contents.openLane(() => this.#recall())
    this.#worker = new Worker(threadUrl('./sealing-thread.ts', import.meta.url), {
      workerData: options.data,
      env: threadEnvironment(),
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    })
    this.#worker.on('message', (message: FromThread) => this.#take(message))
    this.#worker.on('error', cause => this.#fail(threadDied(cause)))
    this.#worker.on('exit', code => this.#fail(threadDied(`it ended with code ${code}`)))
  }

  /** False until it has loaded its code. */
  get started(): boolean {
    return this.#started
  }

  /** Jobs that have not ended; endless while it reads one large file. */
  get load(): number {
    return this.#fileJob === undefined ? this.#jobs.size : Number.POSITIVE_INFINITY
  }

  sealFiles(files: FilesJob, listener: JobListener): void {
    this.#post({ kind: 'files', job: this.#begin(listener), files })
  }

  /** Returns what makes the thread end the job early. */
  sealFile(file: FileJob, listener: JobListener): () => void {
    const job = this.#begin(listener)
    this.#fileJob = job
    this.#post({ kind: 'file', job, file })
    return () => this.#post({ kind: 'abandon', job })
  }

  /** Ends the thread. Its last pack comes home first, unless the thread has failed or nobody wants it. */
  async end({ keep }: { keep: boolean }): Promise<void> {
    this.#ending = { keep }
    try {
      if (keep) await this.#deciding
      if (keep && this.#failure === undefined && this.#lane.isFilling) await this.#recall()
    } finally {
      this.#failure ??= { error: threadDied('it was ended') }
      this.#lane[Symbol.dispose]()
      const ended = this.#worker.terminate()
      // A thread that nobody wants anything of may hang in a read as long as it likes.
      if (keep) await ended
      else this.#worker.unref()
    }
  }

  #begin(listener: JobListener): number {
    this.#jobs.set(++this.#lastJob, listener)
    return this.#lastJob
  }

  #take(message: FromThread): void {
    if (this.#failure !== undefined) return
    switch (message.kind) {
      case 'started':
        this.#started = true
        break
      case 'needs-pack':
        void this.#lane
          .room(message.kept)
          .then(({ buffer, length }) => this.#post({ kind: 'pack', buffer, length }, [buffer.buffer]))
        break
      case 'ask':
        this.#post({ kind: 'answer', known: this.#keeps(message.hash) })
        break
      case 'sealed-files':
      case 'sealed-chunk':
      case 'file-done':
        this.#deciding = this.#deciding.then(() => this.#decide(message)).catch(error => this.#fail(error))
        break
      case 'full':
        this.#lane.close(message.buffer)
        break
      case 'recalled':
        this.#lane.close(message.buffer)
        this.#recalled?.resolve()
    }
  }

  async #decide(message: Extract<FromThread, { job: number }>): Promise<void> {
    if (this.#ending !== undefined) return
    const listener = this.#jobs.get(message.job)
    if (message.kind === 'file-done') {
      this.#fileJob = undefined
      this.#jobs.delete(message.job)
      listener?.onEnd(message.failure)
      return
    }
    const table = SealedTable.from(
      message.kind === 'sealed-chunk' ? message.contents : message.sealed.contents,
    )
    const admitted = await this.#lane.admit(contentsOf(table), this.#options.signal)
    this.#post({ kind: 'decided', admitted })
    if (message.kind === 'sealed-chunk') {
      listener?.onChunk?.(table)
      return
    }
    this.#jobs.delete(message.job)
    listener?.onFiles?.(table, message.sealed)
    listener?.onEnd()
  }

  #keeps(hash: Uint8Array): boolean {
    return this.#options.contents.keeps(contentIdOf('', hash)) === true
  }

  async #recall(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#recalled === undefined) {
      this.#recalled = Promise.withResolvers()
      this.#post({ kind: 'recall' })
    }
    try {
      await this.#recalled.promise
    } finally {
      this.#recalled = undefined
    }
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = { error }
    this.#recalled?.reject(error)
    this.#jobs.clear()
    this.#options.onFailed(error)
  }

  #post(message: ToThread, transferred: ArrayBuffer[] = []): void {
    if (this.#failure === undefined) this.#worker.postMessage(message, transferred)
  }
}

/** A thread needs nothing of the environment but where compiled sources are kept, if they are: it starts three times faster. */
function threadEnvironment(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(folder) }
}

function contentsOf(table: SealedTable): NewContent[] {
  return Array.from({ length: table.count }, (_, at) => ({
    contentId: table.id(at),
    packedLength: table.packedLength(at),
    originalLength: table.originalLength(at),
    compressionId: table.compressionId(at),
  }))
}

function threadDied(cause: unknown): RepoError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new RepoError('SOURCE_FAILED', {
    message: `A thread that reads and encrypts files has died: ${reason}`,
    hint: 'repeat the upload; what it has stored so far is not stored again',
    cause,
  })
}

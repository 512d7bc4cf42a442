import type { ContentWriter } from '../content/content-store.ts'
import { type JobListener, ThreadHandle } from './thread-handle.ts'
import type { FileJob, FilesJob, ThreadData } from './thread-messages.ts'

/** What threads are started for. */
export interface SealingThreadsOptions {
  /** How many at most. */
  count: number
  data: ThreadData
  contents: Pick<ContentWriter, 'openLane' | 'keeps'>
  signal: AbortSignal | undefined
  /** Told of the first thread that died; all jobs are lost then. */
  onFailed(error: unknown): void
}

/** A job that waits, and how many threads are worth having for its kind. */
interface Waiting {
  threads: number
  start(thread: ThreadHandle): void
}

// The next batch waits in the thread, so that no time is lost between two.
const batchesPerThread = 2

/** Threads that read files and seal their contents, and the jobs that wait for one of them. One is started at once, others on demand. */
export class SealingThreads {
  readonly #options: SealingThreadsOptions
  readonly #threads: ThreadHandle[] = []
  readonly #waiting: Waiting[] = []

  constructor(options: SealingThreadsOptions) {
    this.#options = options
    this.#threads.push(new ThreadHandle(options))
  }

  /** True when a thread is ready to work. */
  get started(): boolean {
    return this.#threads.some(thread => thread.started)
  }

  /** True when a job waits already, so that no more should be made for now. */
  get isFull(): boolean {
    return this.#waiting.length > 0
  }

  /** Reads small files, many at once. While they come, the main thread has much to do itself. */
  sealFiles(job: FilesJob, listener: JobListener): void {
    this.#enqueue({
      threads: Math.max(1, this.#options.count - 1),
      start: thread => thread.sealFiles(job, this.#goingOn(listener)),
    })
  }

  /** Reads one file. Returns what abandons the job: its listener is told nothing any more. */
  sealFile(job: FileJob, listener: JobListener): () => void {
    let isWanted = true
    let endEarly = () => {}
    const heard = this.#goingOn({
      onChunk: table => isWanted && listener.onChunk?.(table),
      onEnd: failure => isWanted && listener.onEnd(failure),
    })
    this.#enqueue({
      threads: this.#options.count,
      start: thread => {
        if (isWanted) endEarly = thread.sealFile(job, heard)
      },
    })
    return () => {
      isWanted = false
      endEarly()
    }
  }

  /** Ends all threads, at once or after they have handed over what is finished. */
  async end(options: { keep: boolean }): Promise<void> {
    this.#waiting.length = 0
    await Promise.all(this.#threads.map(thread => thread.end(options)))
  }

  #goingOn(listener: JobListener): JobListener {
    return {
      ...listener,
      onEnd: failure => {
        this.#dispatch()
        listener.onEnd(failure)
      },
    }
  }

  #enqueue(job: Waiting): void {
    this.#waiting.push(job)
    this.#dispatch()
  }

  #dispatch(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const thread = this.#threadFor(next)
      if (thread === undefined) return
      this.#waiting.shift()
      next.start(thread)
    }
  }

  #threadFor({ threads }: Waiting): ThreadHandle | undefined {
    const idle = this.#threads.find(({ load }) => load === 0)
    if (idle !== undefined) return idle
    if (this.#threads.length < threads) {
      const thread = new ThreadHandle(this.#options)
      this.#threads.push(thread)
      return thread
    }
    return this.#threads.find(({ load }) => load < batchesPerThread)
  }
}

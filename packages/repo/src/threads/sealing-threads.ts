import type { ContentWriter } from '../content/content-store.ts'
import { type JobListener, ThreadHandle } from './thread-handle.ts'
import type { FileJob, FilesJob, ThreadData } from './thread-messages.ts'

/** What threads are started for. */
export interface SealingThreadsOptions {
  /** How many. */
  count: number
  data: ThreadData
  contents: Pick<ContentWriter, 'openLane' | 'keeps'>
  signal: AbortSignal | undefined
  /** Told of the first thread that died; all jobs are lost then. */
  onFailed(error: unknown): void
}

type Waiting = (thread: ThreadHandle) => void

// The next batch waits in the thread, so that no time is lost between two.
const batchesPerThread = 2

/** Threads that read files and seal their contents, and the jobs that wait for one of them. */
export class SealingThreads {
  readonly #threads: ThreadHandle[]
  readonly #waiting: Waiting[] = []

  constructor({ count, ...options }: SealingThreadsOptions) {
    this.#threads = Array.from({ length: count }, () => new ThreadHandle(options))
  }

  /** True when a thread is ready to work. */
  get started(): boolean {
    return this.#threads.some(thread => thread.started)
  }

  /** True when no more batches should be made for now. */
  get isFull(): boolean {
    return this.#waiting.length >= this.#threads.length
  }

  /** Reads small files, many at once. */
  sealFiles(job: FilesJob, listener: JobListener): void {
    this.#enqueue(thread => thread.sealFiles(job, this.#goingOn(listener)))
  }

  /** Reads one file. Returns what abandons the job: its listener is told nothing any more. */
  sealFile(job: FileJob, listener: JobListener): () => void {
    let isWanted = true
    let endEarly = () => {}
    const heard = this.#goingOn({
      onChunk: table => isWanted && listener.onChunk?.(table),
      onEnd: failure => isWanted && listener.onEnd(failure),
    })
    this.#enqueue(thread => {
      if (isWanted) endEarly = thread.sealFile(job, heard)
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

  #enqueue(start: Waiting): void {
    this.#waiting.push(start)
    this.#dispatch()
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      const idle = this.#threads.reduce((least, thread) => (thread.load < least.load ? thread : least))
      if (idle.load >= batchesPerThread) return
      this.#waiting.shift()?.(idle)
    }
  }
}

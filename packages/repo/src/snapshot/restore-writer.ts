import { Worker } from 'node:worker_threads'
import { threadUrl } from '../threads/thread-url.ts'
import { type BatchResult, type FileBatch, noMoreBatches } from './file-batch.ts'
import type { AttributeOptions } from './restore-attributes.ts'
import type { NewFile } from './restore-new-file.ts'

/** Files up to this size may be given to a `RestoreWriter`. */
export const longestWrittenByThread = 256 << 10

/** How a writer works. */
export interface RestoreWriterOptions {
  /** Each makes one file at a time. */
  threads: number
  attributes: AttributeOptions
  /** Told what could not be kept of a file, though its data is there. */
  note: (text: string) => void
}

interface Waiting {
  file: NewFile
  bytes: Uint8Array
  resolve: () => void
  reject: (error: unknown) => void
}

interface WriterThread {
  worker: Worker
  ended: Promise<unknown>
  /** Batches under way, by their numbers. */
  batches: Map<number, Waiting[]>
}

const batchBytes = 256 << 10
const slabBytes = batchBytes + longestWrittenByThread
const sparedSlabs = 4

/**
 * Makes small files in threads of its own, with synchronous calls: some five calls for each file cost more in promises and
 * in waking threads than in the system. Paths through descriptors of this process hold in its threads too.
 */
export class RestoreWriter implements AsyncDisposable {
  readonly #options: RestoreWriterOptions
  readonly #threads: WriterThread[] = []
  readonly #slabs: ArrayBuffer[] = []
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #batches = 0
  #failure: { error: unknown } | undefined

  constructor(options: RestoreWriterOptions) {
    this.#options = options
    for (let count = 0; count < options.threads; count++) this.#threads.push(this.#startThread())
  }

  /**
   * Makes a file with these bytes, which nobody else may use any more: their memory is given back. Throws system errors;
   * nothing partial stays behind then.
   */
  write(file: NewFile, bytes: Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (this.#waiting.length === 0) setImmediate(() => this.#send())
    this.#waiting.push({ file, bytes, resolve, reject })
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes >= batchBytes) this.#send()
    return promise
  }

  /**
   * Ends the threads, each after the batches it was given. They are asked to, not terminated: a thread that is stopped
   * while it loads a native module takes the whole process along.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { worker } of this.#threads) worker.postMessage(noMoreBatches)
    await Promise.all(this.#threads.map(({ ended }) => ended))
  }

  #startThread(): WriterThread {
    const worker = new Worker(threadUrl('./restore-writer-thread.ts', import.meta.url), {
      workerData: this.#options.attributes,
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    })
    const ended = new Promise(resolve => worker.once('exit', resolve))
    const thread: WriterThread = { worker, ended, batches: new Map() }
    worker.on('message', (result: BatchResult) => this.#settle(thread, result))
    worker.on('error', error => this.#fail(error))
    return thread
  }

  #send(): void {
    const batch = this.#waiting
    if (batch.length === 0) return
    this.#waiting = []
    this.#waitingBytes = 0
    if (this.#failure !== undefined) {
      rejectAll(batch, this.#failure.error)
      return
    }
    const thread = this.#threads.reduce((best, next) => (next.batches.size < best.batches.size ? next : best))
    const number = this.#batches++
    thread.batches.set(number, batch)
    const files = batch.map(({ file, bytes: { length } }) => ({ ...file, length }))
    const bytes = this.#fillSlab(batch)
    thread.worker.postMessage({ number, bytes, files } satisfies FileBatch, [bytes])
  }

  #fillSlab(batch: readonly Waiting[]): ArrayBuffer {
    const slab = this.#slabs.pop() ?? new ArrayBuffer(slabBytes)
    const target = new Uint8Array(slab)
    let start = 0
    for (const { bytes } of batch) {
      target.set(bytes, start)
      start += bytes.length
      release(bytes)
    }
    return slab
  }

  #settle(thread: WriterThread, { number, bytes, failures, notes }: BatchResult): void {
    if (this.#slabs.length < sparedSlabs) this.#slabs.push(bytes)
    const batch = thread.batches.get(number) ?? []
    thread.batches.delete(number)
    for (const text of notes) this.#options.note(text)
    for (const { index, message, code } of failures) {
      batch[index]?.reject(Object.assign(new Error(message), { code }))
    }
    // Those that have failed stay so.
    for (const { resolve } of batch) resolve()
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    for (const { batches } of this.#threads) {
      for (const batch of batches.values()) rejectAll(batch, error)
      batches.clear()
    }
  }
}

/** Gives memory back at once that would otherwise wait for the garbage collector, which sees only small objects. */
function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

function rejectAll(batch: readonly Waiting[], error: unknown): void {
  for (const { reject } of batch) reject(error)
}

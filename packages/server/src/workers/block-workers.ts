/** One piece of work of a backup: a block, or a handful of plain items. */
export type BlockTask = (signal: AbortSignal) => Promise<void>

/** The work of one backup in the pool. Dispose of it when the backup is over, however it ended. */
export interface BlockLane extends AsyncDisposable {
  /**
   * Queues a task. Resolves when it is queued, which waits while the queue is full. Throws what an earlier task of this
   * lane threw, or the signal's reason.
   */
  submit(task: BlockTask): Promise<void>
  /** Queues a task and waits until it has ended. Throws like `submit`. */
  perform(task: BlockTask): Promise<void>
  /** Waits until everything queued so far has ended. Throws like `submit`. */
  drain(): Promise<void>
}

/**
 * The workers of a server, shared by all backups that run. Each worker runs one task at a time; backups take turns, so
 * that a large one does not hold up a small one. Tasks of one lane begin in the order in which they were queued; with
 * one worker they also end in that order.
 */
export interface BlockWorkers extends AsyncDisposable {
  readonly count: number
  /**
   * Opens a lane. When its signal aborts, or one of its tasks throws, tasks that have not begun are dropped, and those that
   * have are told by their signal. Throws BlockWorkersError `WORKERS_CLOSED` after the pool was disposed of.
   */
  open(signal: AbortSignal): BlockLane
}

export class BlockWorkersError extends Error {
  override readonly name = 'BlockWorkersError'
  readonly code: 'WORKERS_CLOSED' | 'LANE_CLOSED'
  readonly hint: string

  constructor(code: BlockWorkersError['code'], message: string, hint: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

export interface BlockWorkersOptions {
  /** At least 1. */
  count: number
  /** Tasks that wait per backup; more are not built. By default as many as there are workers, and at least 4. */
  queueLength?: number
}

/** Starts the pool. Disposing waits for the lanes that are open, and opens no more. */
export function createBlockWorkers(options: BlockWorkersOptions): BlockWorkers {
  return new Pool(options)
}

class Pool implements BlockWorkers {
  readonly count: number
  readonly #queueLength: number
  /** Lanes with tasks that wait, the one whose turn it is first. */
  readonly #waiting: Lane[] = []
  readonly #open = new Set<Lane>()
  #idle: number
  #closed: boolean = false

  constructor({ count, queueLength = Math.max(count, 4) }: BlockWorkersOptions) {
    this.count = Math.max(1, Math.trunc(count))
    this.#queueLength = queueLength
    this.#idle = this.count
  }

  open(signal: AbortSignal): BlockLane {
    if (this.#closed) {
      throw new BlockWorkersError(
        'WORKERS_CLOSED',
        'no backup can begin: the server is stopping',
        'start it again',
      )
    }
    const lane = new Lane({
      signal,
      queueLength: this.#queueLength,
      onQueued: () => this.#enlist(lane),
      onClosed: () => this.#open.delete(lane),
    })
    this.#open.add(lane)
    return lane
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#open].map(lane => lane.closed))
  }

  #enlist(lane: Lane): void {
    if (!this.#waiting.includes(lane)) this.#waiting.push(lane)
    while (this.#idle > 0 && this.#begin()) this.#idle -= 1
  }

  /** Hands the next task to a worker; false when there is none. */
  #begin(): boolean {
    for (let lane = this.#waiting.shift(); lane !== undefined; lane = this.#waiting.shift()) {
      const run = lane.take()
      if (run === undefined) continue
      if (lane.hasWaiting) this.#waiting.push(lane)
      void this.#work(run)
      return true
    }
    return false
  }

  async #work(run: () => Promise<void>): Promise<void> {
    await run()
    if (!this.#begin()) this.#idle += 1
  }
}

interface LaneOptions {
  signal: AbortSignal
  queueLength: number
  onQueued(): void
  onClosed(): void
}

interface Queued {
  task: BlockTask
  ended: () => void
}

class Lane implements BlockLane {
  readonly #options: LaneOptions
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  readonly #queue: Queued[] = []
  /** Told whenever a task begins, ends or is dropped. */
  #changed = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  #running = 0
  #isClosed: boolean = false

  constructor(options: LaneOptions) {
    this.#options = options
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal])
    this.#signal.addEventListener('abort', this.#drop, { once: true })
  }

  get closed(): Promise<void> {
    return this.#closed.promise
  }

  get hasWaiting(): boolean {
    return this.#queue.length > 0
  }

  async submit(task: BlockTask): Promise<void> {
    await this.#enqueue(task, () => undefined)
  }

  async perform(task: BlockTask): Promise<void> {
    const ended = Promise.withResolvers<void>()
    await this.#enqueue(task, ended.resolve)
    await ended.promise
    this.#signal.throwIfAborted()
  }

  async drain(): Promise<void> {
    while (this.#queue.length > 0 || this.#running > 0) await this.#changed.promise
    this.#signal.throwIfAborted()
  }

  /** The next task, counted as running from now on. */
  take(): (() => Promise<void>) | undefined {
    const next = this.#queue.shift()
    if (next === undefined) return undefined
    this.#running += 1
    this.#tell()
    return () => this.#run(next)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#drop()
    if (this.#running > 0) this.#stop.abort(laneClosed())
    while (this.#running > 0) await this.#changed.promise
    this.#signal.removeEventListener('abort', this.#drop)
    this.#options.onClosed()
    this.#closed.resolve()
  }

  async #enqueue(task: BlockTask, ended: () => void): Promise<void> {
    while (this.#queue.length >= this.#options.queueLength && !this.#signal.aborted && !this.#isClosed) {
      await this.#changed.promise
    }
    this.#signal.throwIfAborted()
    if (this.#isClosed) throw laneClosed()
    this.#queue.push({ task, ended })
    this.#options.onQueued()
  }

  async #run({ task, ended }: Queued): Promise<void> {
    try {
      await task(this.#signal)
    } catch (error) {
      this.#stop.abort(error)
    } finally {
      this.#running -= 1
      ended()
      this.#tell()
    }
  }

  readonly #drop = (): void => {
    for (const { ended } of this.#queue.splice(0)) ended()
    this.#tell()
  }

  #tell(): void {
    const told = this.#changed
    this.#changed = Promise.withResolvers<void>()
    told.resolve()
  }
}

function laneClosed(): BlockWorkersError {
  return new BlockWorkersError(
    'LANE_CLOSED',
    'the backup is over',
    'queue work before the lane is disposed of',
  )
}

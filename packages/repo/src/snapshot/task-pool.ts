/** What may be under way at the same time. */
export interface PoolLimits {
  /** Tasks. */
  tasks: number
  /** The sum of their weights; a single task may weigh more. */
  weight: number
}

/**
 * Runs tasks side by side within limits. `start` waits until there is room, which holds back whoever produces tasks;
 * the first error is kept, stops further starts and comes out of `start` or `drain`.
 */
export class TaskPool {
  readonly #limits: PoolLimits
  #tasks = 0
  #weight = 0
  #failure: { error: unknown } | undefined
  #wake: (() => void) | undefined

  constructor(limits: PoolLimits) {
    this.#limits = limits
  }

  /** Starts a task when there is room; resolves when it has started. Throws the first error of an earlier task. */
  async start(weight: number, task: () => Promise<void>): Promise<void> {
    while (this.#tasks > 0 && !this.#fits(weight) && this.#failure === undefined) await this.#change()
    this.#throwFailure()
    this.#tasks++
    this.#weight += weight
    void this.#run(weight, task)
  }

  /** Resolves when all tasks have ended. Throws their first error. */
  async drain(): Promise<void> {
    await this.settle()
    this.#throwFailure()
  }

  /** Resolves when all tasks have ended, however they did. */
  async settle(): Promise<void> {
    while (this.#tasks > 0) await this.#change()
  }

  async #run(weight: number, task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      this.#failure ??= { error }
    } finally {
      this.#tasks--
      this.#weight -= weight
      this.#wake?.()
    }
  }

  #fits(weight: number): boolean {
    return this.#tasks < this.#limits.tasks && this.#weight + weight <= this.#limits.weight
  }

  #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    return promise
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}

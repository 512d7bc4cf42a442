/**
 * A fixed number of helpers that take work when one of them is free. Who finds none free does the work itself, so
 * work that shares more work cannot wait in a circle.
 */
export class SharedWork {
  #free: number

  constructor(helpers: number) {
    this.#free = helpers
  }

  /** Starts the task on a free helper; undefined, and nothing started, when there is none. */
  tryStart(task: () => Promise<void>): Promise<void> | undefined {
    if (this.#free <= 0) return undefined
    this.#free--
    return task().finally(() => {
      this.#free++
    })
  }
}

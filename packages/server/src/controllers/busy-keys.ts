import type { ControllerOptions } from '@lateen/kube'

/** Keys of the objects that controllers work on. */
export class BusyKeys {
  readonly #counts = new Map<string, number>()

  has(key: string): boolean {
    return this.#counts.has(key)
  }

  /** Does some work on an object, which is busy meanwhile. */
  async during<T>(key: string, work: () => Promise<T>): Promise<T> {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    try {
      return await work()
    } finally {
      const left = (this.#counts.get(key) ?? 1) - 1
      if (left === 0) this.#counts.delete(key)
      else this.#counts.set(key, left)
    }
  }
}

/** The same controller, whose objects are busy while it works on them: whoever deletes what belongs to them looks there first. */
export function keepingBusy(controller: ControllerOptions, busy: BusyKeys): ControllerOptions {
  const { reconcile } = controller
  return { ...controller, reconcile: (key, context) => busy.during(key, () => reconcile(key, context)) }
}

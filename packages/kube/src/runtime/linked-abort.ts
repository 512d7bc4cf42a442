/** An abort of its own that also follows others. Disposing lets go of them, so long-lived parents keep no trace. */
export class LinkedAbort implements Disposable {
  readonly #own = new AbortController()
  readonly #letGo: (() => void)[] = []

  constructor(...parents: readonly AbortSignal[]) {
    for (const parent of parents) this.#follow(parent)
  }

  get signal(): AbortSignal {
    return this.#own.signal
  }

  abort(reason?: unknown): void {
    this.#own.abort(reason)
  }

  [Symbol.dispose](): void {
    for (const letGo of this.#letGo) letGo()
    this.#letGo.length = 0
  }

  #follow(parent: AbortSignal): void {
    if (parent.aborted) this.abort(parent.reason)
    const follow = () => this.abort(parent.reason)
    parent.addEventListener('abort', follow, { once: true })
    this.#letGo.push(() => parent.removeEventListener('abort', follow))
  }
}

/** Resolves when the signal aborts; at once when it already has. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}

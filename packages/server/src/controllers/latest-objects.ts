import { type Informer, type KubeObject, keyOf, versionOf } from '@lateen/kube'

/**
 * An informer's objects, except that one which this process has written is seen as written until the informer has
 * caught up. A decision that counts objects would otherwise count the state before its own last step.
 */
export class LatestObjects<T extends KubeObject> {
  readonly #informer: Informer<T>
  readonly #written = new Map<string, T>()

  constructor(informer: Informer<T>) {
    this.#informer = informer
  }

  /** Takes note of an object as the server returned it. */
  note(written: T): void {
    this.#written.set(keyOf(written), written)
  }

  get(key: string): T | undefined {
    const cached = this.#informer.get(key)
    return cached === undefined ? this.#forget(key) : this.#later(key, cached)
  }

  /** An object that the informer tells of, or as this process has written it since. */
  asWritten(told: T): T {
    return this.#later(keyOf(told), told)
  }

  list(): T[] {
    return this.#informer.list().map(cached => this.#later(keyOf(cached), cached))
  }

  #later(key: string, cached: T): T {
    const written = this.#written.get(key)
    if (written === undefined) return cached
    const isNewer = written.metadata.uid === cached.metadata.uid && versionOf(written) > versionOf(cached)
    if (isNewer) return written
    this.#written.delete(key)
    return cached
  }

  #forget(key: string): undefined {
    this.#written.delete(key)
  }
}

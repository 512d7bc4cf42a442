import type { ResourceClient, WatchEvent } from '../client.ts'
import { isGone } from '../errors.ts'
import type { KubeObject } from '../object.ts'
import { type Backoff, backoffDelay } from './backoff.ts'
import { aborted } from './linked-abort.ts'
import { type IndexValues, ObjectCache } from './object-cache.ts'
import { eventsBetween, type ObjectEvent } from './object-event.ts'
import { joinKey, keyOf, type ObjectKey } from './object-key.ts'
import type { RuntimePorts } from './runtime-ports.ts'

const relistBackoff: Backoff = { baseMs: 200, maxMs: 30_000, jitter: 0.25 }

export interface InformerOptions<T extends KubeObject> {
  labelSelector?: string
  fieldSelector?: string
  /** Named indexes, each computing the values under which an object is found. Must not throw. */
  indexes?: Readonly<Record<string, IndexValues<T>>>
  /**
   * Reduces an object to what its readers need before it is cached, for example `withoutManagedFields`. Must keep the
   * metadata's name, namespace, uid and resourceVersion, and must not throw.
   */
  transform?: (object: T) => T
  /** Repeats every object as `resynced` at this interval. Default: never. */
  resyncMs?: number
}

/** Sees one event at a time, in order. Must not block; a throw is logged and the next event follows. */
export type ObjectHandler<T> = (event: ObjectEvent<T>) => void

/** The part of an informer that does not depend on its kind. */
export interface AnyInformer {
  readonly name: string
  /** Whether the first full list is in the cache. */
  readonly hasSynced: boolean
  /** Why the cache is behind, while it is. */
  readonly lastError: unknown
  /** Resolves with the first full list in the cache; rejects when the signal aborts before. */
  synced(signal?: AbortSignal): Promise<void>
  /** Lists and watches until the signal aborts. Failures are logged and repeated with backoff. Runs once. */
  run(signal: AbortSignal): Promise<void>
}

/** Drops the field that is often half of an object and that controllers do not read. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/**
 * A local copy of all objects of one kind, kept current by a list followed by a watch.
 *
 * Its memory is that of the objects it holds: bounded only by the selectors and by `transform`. It is meant for kinds
 * whose number an operator controls; for kinds of unbounded number (Pods, ConfigMaps, Events of a whole cluster) read
 * with `client.list` instead. Cached objects are shared by all readers and must not be changed.
 */
export class Informer<T extends KubeObject> implements AnyInformer {
  readonly name: string
  readonly #client: ResourceClient<T>
  readonly #options: InformerOptions<T>
  readonly #ports: RuntimePorts
  readonly #cache = new ObjectCache<T>()
  readonly #handlers = new Set<ObjectHandler<T>>()
  readonly #firstSync = Promise.withResolvers<void>()
  #hasSynced = false
  #lastError: unknown
  #failures = 0

  constructor(
    name: string,
    client: ResourceClient<T>,
    options: InformerOptions<T> & { ports: RuntimePorts },
  ) {
    this.name = name
    this.#client = client
    this.#options = options
    this.#ports = { ...options.ports, log: options.ports.log.child({ informer: name }) }
    this.addIndexes(options.indexes ?? {})
  }

  get hasSynced(): boolean {
    return this.#hasSynced
  }

  get lastError(): unknown {
    return this.#lastError
  }

  /** Objects in the cache. */
  get size(): number {
    return this.#cache.size
  }

  get(key: string | ObjectKey): T | undefined {
    return this.#cache.get(typeof key === 'string' ? key : joinKey(key))
  }

  list(): T[] {
    return [...this.#cache.values()]
  }

  /** Throws a RangeError for an index that was never defined. */
  byIndex(name: string, value: string): T[] {
    return this.#cache.byIndex(name, value)
  }

  /** Whether it treats objects as these options ask. */
  isLike({ transform, resyncMs }: InformerOptions<T>): boolean {
    return transform === this.#options.transform && resyncMs === this.#options.resyncMs
  }

  addIndexes(indexes: Readonly<Record<string, IndexValues<T>>>): void {
    for (const [name, valuesOf] of Object.entries(indexes)) this.#cache.addIndex(name, valuesOf)
  }

  /** Calls the handler with `added` for everything cached, then with all that follows. Returns the way to end it. */
  subscribe(handler: ObjectHandler<T>): () => void {
    for (const object of this.list()) this.#tell(handler, { type: 'added', object })
    this.#handlers.add(handler)
    return () => this.#handlers.delete(handler)
  }

  async synced(signal?: AbortSignal): Promise<void> {
    if (signal === undefined) return this.#firstSync.promise
    await Promise.race([this.#firstSync.promise, aborted(signal)])
    if (!this.hasSynced) signal.throwIfAborted()
  }

  async run(signal: AbortSignal): Promise<void> {
    const resyncing = this.#resyncUntil(signal)
    while (!signal.aborted) {
      try {
        await this.#follow(await this.#listAll(signal), signal)
      } catch (error) {
        if (!signal.aborted) await this.#waitAfter(error, signal)
      }
    }
    await resyncing
  }

  /**
   * Brings the cache to the state of a list and returns the version to watch from: that of the list's beginning, so
   * that what changed while a long list went on is seen again.
   */
  async #listAll(signal: AbortSignal): Promise<string> {
    const { labelSelector, fieldSelector } = this.#options
    const listing = this.#client.list(definedOnly({ labelSelector, fieldSelector, signal }))
    const unseen = new Set(this.#cache.keys())
    for await (const object of listing) {
      unseen.delete(keyOf(object))
      this.#see(object)
    }
    signal.throwIfAborted()
    // A watch without a version would begin now and miss what happened since the list.
    if (listing.resourceVersion === undefined) throw new Error('The list did not tell its version')
    for (const key of unseen) this.#forget(key)
    this.#hasSynced = true
    this.#lastError = undefined
    this.#firstSync.resolve()
    return listing.resourceVersion
  }

  async #follow(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { labelSelector, fieldSelector } = this.#options
    const events = this.#client.watch(definedOnly({ resourceVersion, labelSelector, fieldSelector, signal }))
    for await (const event of events) {
      this.#failures = 0
      this.#apply(event)
    }
    signal.throwIfAborted()
    throw new Error('The watch ended although nobody asked it to')
  }

  #apply(event: WatchEvent<T>): void {
    if (event.type === 'BOOKMARK') return
    if (event.type === 'DELETED') this.#forget(keyOf(event.object))
    else this.#see(event.object)
  }

  #see(seen: T): void {
    const object = this.#options.transform?.(seen) ?? seen
    const events = eventsBetween(this.#cache.get(keyOf(object)), object)
    if (events.length > 0) this.#cache.put(object)
    for (const event of events) this.#tellAll(event)
  }

  #forget(key: string): void {
    const object = this.#cache.get(key)
    if (object === undefined) return
    this.#cache.delete(key)
    this.#tellAll({ type: 'deleted', object })
  }

  #tellAll(event: ObjectEvent<T>): void {
    for (const handler of this.#handlers) this.#tell(handler, event)
  }

  #tell(handler: ObjectHandler<T>, event: ObjectEvent<T>): void {
    try {
      handler(event)
    } catch (err) {
      this.#ports.log.error({ err, event: event.type, key: keyOf(event.object) }, 'informer handler failed')
    }
  }

  async #waitAfter(err: unknown, signal: AbortSignal): Promise<void> {
    const { log, clock, random } = this.#ports
    this.#failures += 1
    this.#lastError = err
    const retryInMs = backoffDelay(relistBackoff, this.#failures, random)
    if (isGone(err)) log.info({ retryInMs }, 'watched version is gone, listing again')
    else log.warn({ err, failures: this.#failures, retryInMs }, 'informer interrupted, listing again')
    await clock.sleep(retryInMs, signal).catch(() => {})
  }

  async #resyncUntil(signal: AbortSignal): Promise<void> {
    const { resyncMs } = this.#options
    if (resyncMs === undefined) return
    for (;;) {
      await this.#ports.clock.sleep(resyncMs, signal).catch(() => {})
      if (signal.aborted) return
      for (const object of this.list()) this.#tellAll({ type: 'resynced', object })
    }
  }
}

type DefinedOnly<T> = { [K in keyof T]: Exclude<T[K], undefined> }

function definedOnly<T extends object>(options: T): Partial<DefinedOnly<T>> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<
    DefinedOnly<T>
  >
}

import type { KubeObject } from '../object.ts'
import type { AnyInformer, Informer } from './informer.ts'
import { aborted } from './linked-abort.ts'
import type { ObjectEvent } from './object-event.ts'
import { keyOf } from './object-key.ts'
import type { RuntimePorts } from './runtime-ports.ts'

/** Where a controller's keys come from. Made by `watching` or `periodically`, or by hand. */
export interface Source {
  /** The cache that must be full before the first reconcile, if the source reads one. */
  readonly informer?: AnyInformer
  /** Enqueues keys until the signal aborts. Must not reject. */
  run(enqueue: (key: string) => void, scope: SourceScope): Promise<void>
}

export type SourceScope = RuntimePorts & { signal: AbortSignal }

export interface WatchingOptions<T extends KubeObject> {
  informer: Informer<T>
  /** Lets an event through. Default: all. */
  predicate?: (event: ObjectEvent<T>) => boolean
  /** The keys that an object concerns. For an update it is asked about both states. Default: the object's own key. */
  toKeys?: (object: T) => Iterable<string>
}

/** Enqueues the keys of every object that an informer reports, starting with everything it has cached. */
export function watching<T extends KubeObject>({ informer, predicate, toKeys }: WatchingOptions<T>): Source {
  const keysOf = toKeys ?? (object => [keyOf(object)])
  return {
    informer,
    async run(enqueue, { signal }) {
      const unsubscribe = informer.subscribe(event => {
        if (predicate !== undefined && !predicate(event)) return
        for (const key of keysOf(event.object)) enqueue(key)
        if (event.type === 'updated') for (const key of keysOf(event.previous)) enqueue(key)
      })
      await aborted(signal)
      unsubscribe()
    },
  }
}

export interface PeriodicOptions {
  everyMs: number
  /** What to enqueue this time. A throw is logged, and the next period asks again. */
  keys: (scope: { signal: AbortSignal }) => Iterable<string> | Promise<Iterable<string>>
}

/** Enqueues keys at the start and then once per period. */
export function periodically({ everyMs, keys }: PeriodicOptions): Source {
  return {
    async run(enqueue, { signal, clock, log }) {
      while (!signal.aborted) {
        try {
          for (const key of await keys({ signal })) enqueue(key)
        } catch (err) {
          log.warn({ err, retryInMs: everyMs }, 'periodic source failed')
        }
        await clock.sleep(everyMs, signal).catch(() => {})
      }
    },
  }
}

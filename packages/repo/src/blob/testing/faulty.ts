import { type Clock, systemClock } from '../../clock/clock.ts'
import { RepoError, type RepoErrorCode } from '../../errors/repo-error.ts'
import type { BlobId, BlobMetadata, BlobStorage } from '../storage.ts'

/** How likely each fault is for one operation, from 0 to 1. */
export interface FaultRates {
  /** Fails before anything was done. */
  failing: number
  /** Hangs for `timeoutMs`, then fails. */
  timingOut: number
  /** Is told to slow down. */
  throttling: number
  /** A body ends in the middle, and the storage notices. */
  cutOff: number
  /** A body ends in the middle, and nobody notices: a storage that breaks its promise. */
  halfBody: number
  /** The change is made, and its success gets lost on the way. */
  lostAnswer: number
  /** A listing leaves out one of the latest blobs or still has a deleted one: a storage that breaks its promise. */
  staleList: number
}

/** What happened to whom. */
export interface Fault {
  readonly kind: keyof FaultRates
  readonly operation: 'get' | 'head' | 'put' | 'retain' | 'delete' | 'list'
  /** The blob, or the prefix of a listing. */
  readonly subject: string
}

/** Settings of a storage with faults. */
export interface FaultyOptions {
  readonly seed: number
  readonly rates: Partial<FaultRates>
  readonly timeoutMs?: number
  /** How long after a change a listing may not show it; for ever when not given. */
  readonly staleForMs?: number
  readonly clock?: Clock
  /** Which operations can go wrong; all when not given. */
  readonly affects?: (operation: Fault['operation'], subject: string) => boolean
}

/** A storage that goes wrong by chance, the same way for the same seed and order of calls. */
export interface FaultyStorage extends BlobStorage {
  /** May be changed at any time; clear it to let the storage recover. */
  readonly rates: Partial<FaultRates>
  readonly faults: readonly Fault[]
}

const remembered = 20

/** For tests of what stands above a storage. */
export function faultyStorage(storage: BlobStorage, options: FaultyOptions): FaultyStorage {
  const { timeoutMs = 1000, staleForMs = Number.POSITIVE_INFINITY, clock = systemClock } = options
  const { affects = () => true } = options
  const rates = { ...options.rates }
  const random = seededRandom(options.seed)
  const faults: Fault[] = []
  const latest: { id: BlobId; at: number }[] = []
  const deleted = new Map<BlobId, { blob: BlobMetadata; at: number }>()

  function strikes(kind: keyof FaultRates, operation: Fault['operation'], subject: string): boolean {
    const rate = rates[kind] ?? 0
    if (rate === 0 || !affects(operation, subject) || random() >= rate) return false
    faults.push({ kind, operation, subject })
    return true
  }

  async function before(operation: Fault['operation'], subject: string, signal?: AbortSignal): Promise<void> {
    if (strikes('failing', operation, subject))
      throw failure(`Cannot ${operation} ${subject}: the server failed`)
    if (strikes('throttling', operation, subject)) throw failure(`Cannot ${operation} ${subject}: slow down`)
    if (strikes('timingOut', operation, subject)) {
      await clock.sleep(timeoutMs, signal)
      throw failure(`Cannot ${operation} ${subject}: no answer in time`)
    }
  }

  function after(operation: Fault['operation'], subject: string): void {
    if (strikes('lostAnswer', operation, subject))
      throw failure(`Cannot ${operation} ${subject}: the answer got lost`)
  }

  async function* staleList(prefix: string, signal?: AbortSignal): AsyncGenerator<BlobMetadata> {
    const since = clock.now() - staleForMs
    const recent = latest.filter(({ at }) => at >= since)
    const hidden = recent[Math.floor(random() * recent.length)]?.id
    for await (const blob of storage.list(prefix, { signal })) if (blob.id !== hidden) yield blob
    for (const { blob, at } of deleted.values()) if (at >= since && blob.id.startsWith(prefix)) yield blob
  }

  return {
    description: `${storage.description} with faults`,
    rates,
    faults,
    async get(id, getOptions) {
      await before('get', id, getOptions?.signal)
      const bytes = await storage.get(id, getOptions)
      if (strikes('cutOff', 'get', id)) throw failure(`Cannot get ${id}: the connection was cut`)
      return strikes('halfBody', 'get', id) ? bytes.slice(0, bytes.length / 2) : bytes
    },
    async head(id, headOptions) {
      await before('head', id, headOptions?.signal)
      return storage.head(id, headOptions)
    },
    async put(id, data, putOptions) {
      await before('put', id, putOptions?.signal)
      await storage.put(id, data, putOptions)
      deleted.delete(id)
      latest.push({ id, at: clock.now() })
      if (latest.length > remembered) latest.shift()
      after('put', id)
    },
    async retain(id, retention, retainOptions) {
      await before('retain', id, retainOptions?.signal)
      await storage.retain(id, retention, retainOptions)
      after('retain', id)
    },
    async delete(id, deleteOptions) {
      await before('delete', id, deleteOptions?.signal)
      const gone = await storage.head(id, deleteOptions).catch(() => undefined)
      await storage.delete(id, deleteOptions)
      if (gone !== undefined) deleted.set(id, { blob: gone, at: clock.now() })
      after('delete', id)
    },
    async *list(prefix, listOptions) {
      await before('list', prefix, listOptions?.signal)
      const cutAfter = strikes('cutOff', 'list', prefix) ? Math.floor(random() * remembered) : undefined
      const stale = strikes('staleList', 'list', prefix)
      let given = 0
      for await (const blob of stale
        ? staleList(prefix, listOptions?.signal)
        : storage.list(prefix, listOptions)) {
        if (given++ === cutAfter) break
        yield blob
      }
      if (cutAfter !== undefined) throw failure(`Cannot list ${prefix}: the connection was cut`)
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}

function failure(message: string, code: RepoErrorCode = 'STORAGE_FAILED'): RepoError {
  return new RepoError(code, { message, retryable: true })
}

/** Numbers from 0 to 1 that only the seed decides (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

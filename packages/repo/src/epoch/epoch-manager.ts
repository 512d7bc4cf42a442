import type { BlobId, BlobMetadata, BlobStorage } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import { isRepoError, RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { type BlobCrypto, encryptBlob } from '../format/blob-crypto.ts'
import type { EpochParameters } from '../format/format-parameters.ts'
import { epochBlobPrefix, setSuffix, uncompactedPrefix } from './epoch-blob-name.ts'
import { type CompleteIndexSet, completeIndexSet, type EpochState, epochStateOf } from './epoch-state.ts'

/** What an epoch manager works with. */
export interface EpochManagerOptions {
  storage: BlobStorage
  crypto: BlobCrypto
  parameters: EpochParameters
  clock: Clock
}

/** Index blobs that a writer adds. */
export interface IndexToWrite {
  /** Plaintexts; together they are one set. */
  shards: readonly Uint8Array[]
  /** The session that the packs of the entries belong to; empty when there is none. */
  sessionId: string
}

/** Keeps track of the index blobs of a repository with epochs. */
export interface EpochManager {
  /** The state of the index, from a listing no older than the refresh frequency. */
  state(signal?: AbortSignal): Promise<EpochState>
  /** The state from a new listing. */
  refresh(signal?: AbortSignal): Promise<EpochState>
  /**
   * Runs `load` with the blobs that make up the index, again with a new listing when a blob vanished meanwhile because
   * somebody compacted. Throws `BLOB_NOT_FOUND` when blobs keep vanishing.
   */
  withIndexSet<T>(load: (set: CompleteIndexSet) => Promise<T>, signal?: AbortSignal): Promise<T>
  /**
   * Adds index blobs to the current epoch. Packs must be durable before. Throws `STORAGE_FAILED` when the storage was
   * so slow that two epochs passed; what was written is then deleted again.
   */
  writeIndex(index: IndexToWrite, signal?: AbortSignal): Promise<BlobId[]>
}

const mostLoadAttempts = 10
const mostWriteAttempts = 10
const firstPause = 100
const longestRefreshPause = 15_000
// A write begins only with a state that stays valid for most of its time.
const validityNeeded = 0.75

/** A state and until when it may be relied on. */
interface ValidState {
  state: EpochState
  validUntil: number
}

/** An epoch manager; lists nothing before it is asked. */
export function createEpochManager(options: EpochManagerOptions): EpochManager {
  const { clock, parameters } = options
  let current: ValidState | undefined

  const refresh = async (signal?: AbortSignal): Promise<ValidState> => {
    current = await listState(options, signal)
    return current
  }
  const valid = async (remaining: number, signal?: AbortSignal): Promise<ValidState> =>
    current !== undefined && clock.now() < current.validUntil - remaining ? current : refresh(signal)

  return {
    state: async signal => (await valid(0, signal)).state,
    refresh: async signal => (await refresh(signal)).state,
    withIndexSet: (load, signal) => loadWithRetry({ load, clock, refresh, signal }),
    async writeIndex(index, signal) {
      const written = new WrittenShards(options, index)
      const needed = parameters.refreshFrequency * validityNeeded
      for (let attempt = 0; attempt < mostWriteAttempts; attempt++) {
        throwIfCancelled(signal)
        const { state, validUntil } = await valid(needed, signal)
        if (await written.putAll(state.writeEpoch, { until: validUntil, signal })) {
          const after = await refresh(signal)
          await written.requireRecent(after.state.writeEpoch)
          return written.ids
        }
      }
      await written.deleteAll()
      throw tooSlow()
    },
  }
}

/** A listing that took longer than it stays valid is repeated. */
async function listState(options: EpochManagerOptions, signal: AbortSignal | undefined): Promise<ValidState> {
  const { storage, clock, parameters } = options
  for (let pause = firstPause; ; pause = Math.min(pause * 1.5, longestRefreshPause)) {
    throwIfCancelled(signal)
    const validUntil = clock.now() + parameters.refreshFrequency
    const blobs: BlobMetadata[] = []
    for await (const blob of storage.list(epochBlobPrefix, { signal })) blobs.push(blob)
    if (clock.now() <= validUntil) return { state: epochStateOf(blobs), validUntil }
    await clock.sleep(pause, signal)
  }
}

interface LoadAttempts<T> {
  load: (set: CompleteIndexSet) => Promise<T>
  clock: Clock
  refresh: (signal?: AbortSignal) => Promise<ValidState>
  signal: AbortSignal | undefined
}

async function loadWithRetry<T>({ load, clock, refresh, signal }: LoadAttempts<T>): Promise<T> {
  let pause = firstPause
  for (let attempt = 1; ; attempt++) {
    const { state, validUntil } = await refresh(signal)
    try {
      const loaded = await load(completeIndexSet(state))
      if (clock.now() <= validUntil || attempt >= mostLoadAttempts) return loaded
    } catch (error) {
      if (!isRepoError(error, 'BLOB_NOT_FOUND') || attempt >= mostLoadAttempts) throw error
      await clock.sleep(pause, signal)
      pause *= 2
    }
  }
}

/** Shards of one index on their way into the storage. */
class WrittenShards {
  readonly #options: EpochManagerOptions
  readonly #index: IndexToWrite
  #epoch = 0
  #ids: BlobId[] = []

  constructor(options: EpochManagerOptions, index: IndexToWrite) {
    this.#options = options
    this.#index = index
  }

  get ids(): BlobId[] {
    return [...this.#ids]
  }

  /** Puts all shards under an epoch; false when the time ran out before the last. */
  async putAll(
    epoch: number,
    { until, signal }: { until: number; signal: AbortSignal | undefined },
  ): Promise<boolean> {
    if (epoch !== this.#epoch) await this.deleteAll()
    this.#epoch = epoch
    const { storage, crypto, clock } = this.#options
    const { shards, sessionId } = this.#index
    for (const shard of shards.slice(this.#ids.length)) {
      if (clock.now() >= until) return false
      const name = { prefix: uncompactedPrefix(epoch), suffix: setSuffix(sessionId, shards.length) }
      const blob = encryptBlob(shard, name, crypto)
      await storage.put(blob.id, blob.bytes, { signal })
      this.#ids.push(blob.id)
    }
    return true
  }

  /** Deletes what was written when readers may already have passed its epoch by, and throws. */
  async requireRecent(writeEpoch: number): Promise<void> {
    if (writeEpoch < this.#epoch + 2) return
    await this.deleteAll()
    throw tooSlow()
  }

  async deleteAll(): Promise<void> {
    for (const id of this.#ids) await this.#options.storage.delete(id)
    this.#ids = []
  }
}

function tooSlow(): RepoError {
  return new RepoError('STORAGE_FAILED', {
    message: 'Writing an index took longer than two index epochs',
    hint: 'The storage or the network is extremely slow; try again.',
    retryable: true,
  })
}

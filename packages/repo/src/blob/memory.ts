import { type Clock, systemClock } from '../clock/clock.ts'
import { throwIfCancelled } from '../errors/repo-error.ts'
import {
  type BlobId,
  type BlobRetention,
  type BlobStorage,
  blobNotFound,
  joinedData,
  rangeWithin,
  refuseRetention,
} from './storage.ts'

/** Settings of a storage in memory. */
export interface MemoryStorageOptions {
  /** Gives the timestamps; the machine's own when not given. */
  readonly clock?: Pick<Clock, 'now'>
  /** Where the blobs are kept; two storages over one map see the same blobs. */
  readonly blobs?: Map<BlobId, StoredBlob>
  /** Notes how blobs are to be protected instead of refusing to. */
  readonly objectLock?: boolean
}

/** A blob as the memory storage keeps it. The bytes are never changed in place by the storage. */
export interface StoredBlob {
  bytes: Uint8Array
  timestamp: number
  retention?: BlobRetention | undefined
}

/** A storage in memory with its blobs in reach, for tests that damage, age or count them. */
export interface MemoryStorage extends BlobStorage {
  readonly blobs: Map<BlobId, StoredBlob>
}

/** A storage that lasts as long as the process. Lists in the order of names. */
export function memoryStorage(options: MemoryStorageOptions = {}): MemoryStorage {
  const { clock = systemClock, blobs = new Map<BlobId, StoredBlob>() } = options
  const description = 'memory'
  const refuse = options.objectLock ? () => {} : refuseRetention

  function stored(id: BlobId): StoredBlob {
    const blob = blobs.get(id)
    if (blob === undefined) throw blobNotFound(id, description)
    return blob
  }

  return {
    description,
    blobs,
    async get(id, getOptions = {}) {
      throwIfCancelled(getOptions.signal)
      const { bytes } = stored(id)
      const { offset, length } = rangeWithin(id, bytes.length, getOptions)
      return new Uint8Array(bytes.subarray(offset, offset + length))
    },
    async head(id, { signal } = {}) {
      throwIfCancelled(signal)
      const { bytes, timestamp } = stored(id)
      return { id, length: bytes.length, timestamp }
    },
    async put(id, data, putOptions = {}) {
      throwIfCancelled(putOptions.signal)
      const { retention } = putOptions
      refuse(id, retention, description)
      blobs.set(id, { bytes: new Uint8Array(joinedData(data)), timestamp: clock.now(), retention })
    },
    async retain(id, retention, { signal } = {}) {
      throwIfCancelled(signal)
      refuse(id, retention, description)
      stored(id).retention = retention
    },
    async delete(id, { signal } = {}) {
      throwIfCancelled(signal)
      blobs.delete(id)
    },
    async *list(prefix, { signal } = {}) {
      const ids = [...blobs.keys()].filter(id => id.startsWith(prefix)).sort(compareIds)
      for (const id of ids) {
        throwIfCancelled(signal)
        const blob = blobs.get(id)
        if (blob !== undefined) yield { id, length: blob.bytes.length, timestamp: blob.timestamp }
      }
    },
    async [Symbol.asyncDispose]() {},
  }
}

function compareIds(a: BlobId, b: BlobId): number {
  return a < b ? -1 : 1
}

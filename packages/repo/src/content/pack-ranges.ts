import { type BlobStorage, blobId } from '../blob/storage.ts'
import { RepoError } from '../errors/repo-error.ts'
import { untilAborted } from './until-aborted.ts'

/** A slice of a pack. */
export interface PackRange {
  packBlobId: string
  offset: number
  length: number
}

/** Bounds of what is read at once. */
export interface PackRangeOptions {
  storage: BlobStorage
  /** Slices of one pack that are asked for at the same time and lie no further apart are read as one. */
  maxGap?: number | undefined
  /** Unless that would read more than this at once. */
  maxRead?: number | undefined
  /** Keeps whole metadata packs (`q`) up to this many bytes in memory, so that a walk of a tree needs few reads. 0: none. */
  metadataPackBytes?: number | undefined
  /** Slices of one metadata pack that are read alone, before the next one brings the whole pack; 0 when absent. */
  slicesBeforeWhole?: number | undefined
}

interface Waiting extends PackRange {
  signal: AbortSignal | undefined
  resolve(bytes: Uint8Array): void
  reject(error: unknown): void
}

interface WholePack {
  loading: Promise<Uint8Array>
  /** 0 while it is loading. */
  length: number
}

const defaultMaxGap = 64 << 10
const defaultMaxRead = 8 << 20

/** Reads slices of packs with as few requests as the bounds allow. */
export class PackRanges {
  readonly #options: PackRangeOptions
  readonly #waiting = new Map<string, Waiting[]>()
  readonly #wholePacks = new Map<string, WholePack>()
  readonly #slicesRead = new Map<string, number>()

  constructor(options: PackRangeOptions) {
    this.#options = options
  }

  /** The bytes of a slice from the storage itself, whatever is remembered. Throws what the storage throws. */
  readFresh({ packBlobId, offset, length }: PackRange, signal?: AbortSignal): Promise<Uint8Array> {
    this.#wholePacks.delete(packBlobId)
    return this.#options.storage.get(blobId(packBlobId), { offset, length, fresh: true, signal })
  }

  /** The bytes of a slice. Throws what the storage throws. */
  read(range: PackRange, signal?: AbortSignal): Promise<Uint8Array> {
    if (this.#isWantedWhole(range.packBlobId)) return this.#sliceOfWhole(range, signal)
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    if (this.#waiting.size === 0) setImmediate(() => this.#readWaiting())
    const list = this.#waiting.get(range.packBlobId) ?? []
    this.#waiting.set(range.packBlobId, list)
    list.push({ ...range, signal, resolve, reject })
    return promise
  }

  #isWantedWhole(packBlobId: string): boolean {
    const { metadataPackBytes, slicesBeforeWhole = 0 } = this.#options
    if (!metadataPackBytes || !packBlobId.startsWith('q')) return false
    if (slicesBeforeWhole === 0 || this.#wholePacks.has(packBlobId)) return true
    const slices = this.#slicesRead.get(packBlobId) ?? 0
    this.#slicesRead.set(packBlobId, slices < slicesBeforeWhole ? slices + 1 : 0)
    return slices >= slicesBeforeWhole
  }

  #readWaiting(): void {
    const packs = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const list of packs) {
      for (const together of bySignal(list)) {
        for (const group of groupRanges(together, this.#options)) void this.#readGroup(group)
      }
    }
  }

  async #readGroup(group: readonly [Waiting, ...Waiting[]]): Promise<void> {
    const [first] = group
    const { signal } = first
    const end = Math.max(...group.map(range => range.offset + range.length))
    try {
      const options = { offset: first.offset, length: end - first.offset, signal }
      const bytes = await untilAborted(this.#options.storage.get(blobId(first.packBlobId), options), signal)
      for (const { offset, length, resolve } of group) {
        resolve(bytes.subarray(offset - first.offset, offset - first.offset + length))
      }
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  async #sliceOfWhole({ packBlobId, offset, length }: PackRange, signal?: AbortSignal): Promise<Uint8Array> {
    const pack = this.#wholePacks.get(packBlobId) ?? this.#loadWhole(packBlobId)
    // Moving it to the end makes the first of the map the one unused for the longest time.
    this.#wholePacks.delete(packBlobId)
    this.#wholePacks.set(packBlobId, pack)
    const bytes = await untilAborted(pack.loading, signal)
    if (offset + length <= bytes.length) return bytes.subarray(offset, offset + length)
    throw new RepoError('INVALID_RANGE', {
      message: `Blob ${packBlobId} has ${bytes.length} bytes, and byte ${offset + length - 1} was wanted`,
      blobId: packBlobId,
    })
  }

  #loadWhole(packBlobId: string): WholePack {
    const pack: WholePack = { loading: this.#options.storage.get(blobId(packBlobId)), length: 0 }
    pack.loading.then(
      ({ length }) => {
        pack.length = length
        this.#forgetUnused(pack)
      },
      () => this.#wholePacks.delete(packBlobId),
    )
    return pack
  }

  #forgetUnused(latest: WholePack): void {
    const { metadataPackBytes = 0 } = this.#options
    let total = 0
    for (const { length } of this.#wholePacks.values()) total += length
    for (const [id, pack] of this.#wholePacks) {
      if (total <= metadataPackBytes) return
      if (pack === latest || pack.length === 0) continue
      this.#wholePacks.delete(id)
      total -= pack.length
    }
  }
}

/** Those who wait with the same signal together: what they read ends for all of them or for none. */
function bySignal(list: readonly Waiting[]): Iterable<Waiting[]> {
  return Map.groupBy(list, ({ signal }) => signal).values()
}

/** Slices of one pack in groups, each to be read at once: neighbours within the bounds, in the order of offsets. */
export function groupRanges<T extends PackRange>(
  ranges: readonly T[],
  { maxGap = defaultMaxGap, maxRead = defaultMaxRead }: Pick<PackRangeOptions, 'maxGap' | 'maxRead'>,
): [T, ...T[]][] {
  const groups: [T, ...T[]][] = []
  let end = 0
  for (const range of ranges.toSorted((a, b) => a.offset - b.offset)) {
    const group = groups.at(-1)
    const newEnd = Math.max(end, range.offset + range.length)
    if (group !== undefined && range.offset - end <= maxGap && newEnd - group[0].offset <= maxRead) {
      group.push(range)
      end = newEnd
    } else {
      groups.push([range])
      end = range.offset + range.length
    }
  }
  return groups
}

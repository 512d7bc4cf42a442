import { RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import type { PackBuilder, PackBytes, PlacedContent } from '../pack/pack-builder.ts'
import { preambleLength } from '../pack/pack-preamble.ts'
import type { PackBuffers } from './pack-buffers.ts'
import type { WriteBatch } from './write-batch.ts'

/** Contents that are longer than this are not for lanes: there may be no room for them. */
export const longestLaneContent = 8 << 20

/** A content that was sealed elsewhere. Without packed bytes it is said to be known already. */
export type NewContent = Pick<
  PlacedContent,
  'contentId' | 'packedLength' | 'originalLength' | 'compressionId'
>

/**
 * Packs of file data that somebody else fills, such as a thread: one after the other, each in a buffer that `room` lends and
 * `close` takes back.
 */
export interface PackLane extends Disposable {
  /** A buffer for the next pack, as soon as there is one, and how much of it is filled already; `kept` bytes still fit in. */
  room(kept?: number): Promise<PackRoom>
  /**
   * Which of these contents are new, 1 or 0 for each. The new ones lie one after the other at the end of the pack from now on.
   * Waits and throws as `ContentWriter.write` does.
   */
  admit(contents: readonly NewContent[], signal?: AbortSignal): Promise<Uint8Array>
  /** Brings the pack with all that was admitted, full or called back; it is stored in the background. */
  close(buffer: PackBytes): void
  /** True when contents were admitted that have not come yet. */
  readonly isFilling: boolean
  /** Gives back a buffer that nothing was admitted to. */
  giveBack(buffer: PackBytes): void
}

/** Where the next pack of a lane is filled. */
export interface PackRoom {
  buffer: PackBytes
  length: number
}

/** What lanes need of the writer they belong to. */
export interface LanePorts {
  readonly buffers: PackBuffers
  /** False, and nothing done, when something must be awaited first. */
  tryAdmit(contents: readonly NewContent[], lane: OpenLane): Uint8Array | undefined
  makeReady(signal?: AbortSignal): Promise<void>
  /** The pack that the writer itself has begun, its bytes given away, if it has that much room. */
  openPack(kept: number): { batch: WriteBatch; builder: PackBuilder; buffer: PackBytes } | undefined
  /** Takes in a pack whose bytes have come. */
  bringHome(batch: WriteBatch, pack: PackBuilder): void
}

/** A lane as its writer sees it. */
export interface OpenLane {
  /** The pack that takes new contents; it is away. */
  pack: { batch: WriteBatch; builder: PackBuilder } | undefined
}

/** Full packs of lanes that wait for the storage, beside the one each lane fills. */
const spareBuffers = 1

/** The lanes of one writer. */
export class PackLanes {
  readonly #ports: LanePorts
  readonly #lanes = new Set<Lane>()
  #holders = 0
  #released: PromiseWithResolvers<void> | undefined

  constructor(ports: LanePorts) {
    this.#ports = ports
  }

  /** `recall` must lead to `close`, or resolve without it when the thread has nothing that was admitted. */
  open(recall: () => Promise<void>): PackLane {
    const lane = new Lane({ ...this.#ports, recall, held: () => this.#released?.promise })
    this.#lanes.add(lane)
    this.#setLimit()
    lane.onEnd = () => {
      this.#lanes.delete(lane)
      this.#setLimit()
    }
    return lane
  }

  /** Calls all packs back. Nothing is admitted until the result is disposed of. */
  async hold(): Promise<Disposable> {
    this.#holders++
    this.#released ??= Promise.withResolvers<void>()
    const release = { [Symbol.dispose]: () => this.#release() }
    try {
      await Promise.all([...this.#lanes].map(lane => lane.callBack()))
    } catch (error) {
      this.#release()
      throw error
    }
    return release
  }

  /** Calls back the pack that is away, if a lane fills it. */
  async callBack(builder: PackBuilder): Promise<void> {
    for (const lane of this.#lanes) if (lane.pack?.builder === builder) await lane.callBack()
  }

  #release(): void {
    this.#holders--
    if (this.#holders > 0) return
    this.#released?.resolve()
    this.#released = undefined
  }

  #setLimit(): void {
    this.#ports.buffers.limit = this.#lanes.size + spareBuffers
  }
}

interface LaneParts extends LanePorts {
  recall: () => Promise<void>
  /** Resolves when contents may be admitted again; undefined when they may be. */
  held(): Promise<void> | undefined
}

class Lane implements PackLane, OpenLane {
  pack: OpenLane['pack']
  onEnd: () => void = () => {}
  readonly #parts: LaneParts
  #recalling: Promise<void> | undefined

  constructor(parts: LaneParts) {
    this.#parts = parts
  }

  get isFilling(): boolean {
    return this.pack !== undefined
  }

  async room(kept = 0): Promise<PackRoom> {
    const begun = this.pack === undefined && !this.#parts.held() ? this.#parts.openPack(kept) : undefined
    if (begun === undefined) return { buffer: await this.#parts.buffers.lend(), length: preambleLength }
    this.#parts.buffers.adopt()
    this.pack = begun
    return { buffer: begun.buffer, length: begun.builder.length }
  }

  async admit(contents: readonly NewContent[], signal?: AbortSignal): Promise<Uint8Array> {
    for (;;) {
      throwIfCancelled(signal)
      const wait = this.#parts.held() ?? this.#recalling
      const admitted = wait === undefined ? this.#parts.tryAdmit(contents, this) : undefined
      if (admitted !== undefined) return admitted
      await (wait ?? this.#parts.makeReady(signal))
    }
  }

  close(buffer: PackBytes): void {
    if (this.pack === undefined) {
      this.giveBack(buffer)
      return
    }
    const { batch, builder } = this.pack
    this.pack = undefined
    builder.fill(buffer)
    this.#parts.bringHome(batch, builder)
  }

  giveBack(buffer: PackBytes): void {
    this.#parts.buffers.give(buffer)
  }

  async callBack(): Promise<void> {
    const wanted = this.pack?.builder
    if (wanted === undefined) return
    this.#recalling ??= this.#parts.recall().finally(() => {
      this.#recalling = undefined
    })
    await this.#recalling
    if (this.pack?.builder === wanted) throw lostPack(wanted)
  }

  [Symbol.dispose](): void {
    this.onEnd()
  }
}

/** The error for contents that were admitted and never came. */
export function lostPack({ packBlobId }: PackBuilder): RepoError {
  return new RepoError('STORAGE_FAILED', {
    message: `The contents of pack ${packBlobId} were lost before they could be stored`,
    blobId: packBlobId,
    hint: 'repeat the upload',
  })
}

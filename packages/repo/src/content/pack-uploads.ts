import { type BlobData, type BlobStorage, blobId, dataLength } from '../blob/storage.ts'
import { untilAborted } from './until-aborted.ts'

/** A closed pack on its way to the storage. */
export interface ClosedPack {
  readonly packBlobId: string
  readonly data: BlobData
  /** Called when the storage has no more use for the data. */
  release?(): void
}

/** What packs are stored with. */
export interface PackUploadOptions {
  storage: BlobStorage
  /** Closed packs that are not stored yet hold no more than this, plus one pack. */
  maxBytes: number
  /** Ends all uploads. */
  signal?: AbortSignal | undefined
  /** Called when a pack is durable. */
  onStored(pack: ClosedPack): void
}

type Upload = { pack: ClosedPack; length: number; done: Promise<void>; failed: boolean }

/** Stores closed packs in the background, a bounded number of bytes at a time. A pack that failed is kept and tried again. */
export class PackUploads {
  readonly #options: PackUploadOptions
  readonly #uploads = new Map<string, Upload>()
  #bytes = 0
  #failures = 0

  constructor(options: PackUploadOptions) {
    this.#options = options
  }

  /** True when no pack failed and there is room for another one. */
  get ready(): boolean {
    return this.#bytes < this.#options.maxBytes && this.#failures === 0
  }

  /** Begins to store a pack. */
  start(pack: ClosedPack): void {
    const upload: Upload = { pack, length: dataLength(pack.data), done: Promise.resolve(), failed: false }
    this.#uploads.set(pack.packBlobId, upload)
    this.#bytes += upload.length
    this.#store(upload)
  }

  /** Resolves when it is worth looking at `ready` again. Throws what the storage threw when a failed pack fails once more. */
  async wait(signal?: AbortSignal): Promise<void> {
    const failed = this.#all().find(upload => upload.failed)
    if (failed !== undefined) await untilAborted(this.#retry(failed), signal)
    else await untilAborted(Promise.race(this.#all().map(upload => upload.done.catch(() => {}))), signal)
  }

  /** Resolves when these packs are durable. A failed one is tried once more; throws what the storage throws then. */
  async finish(packBlobIds: Iterable<string>, signal?: AbortSignal): Promise<void> {
    for (const id of packBlobIds) {
      const upload = this.#uploads.get(id)
      if (upload === undefined) continue
      await untilAborted(
        upload.done.catch(() => this.#retry(upload)),
        signal,
      )
    }
  }

  /** Resolves when nothing is under way any more, whether it was stored or not. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#all().map(upload => upload.done))
  }

  #all(): Upload[] {
    return [...this.#uploads.values()]
  }

  #retry(upload: Upload): Promise<void> {
    if (upload.failed) {
      upload.failed = false
      this.#failures -= 1
      this.#store(upload)
    }
    return upload.done
  }

  #store(upload: Upload): void {
    const { storage, signal, onStored } = this.#options
    const { pack } = upload
    upload.done = storage.put(blobId(pack.packBlobId), pack.data, { signal }).then(
      () => {
        this.#uploads.delete(pack.packBlobId)
        this.#bytes -= upload.length
        onStored(pack)
      },
      (error: unknown) => {
        upload.failed = true
        this.#failures += 1
        throw error
      },
    )
    // It fails for whoever waits for it; until then the failure is not unhandled.
    upload.done.catch(() => {})
  }
}

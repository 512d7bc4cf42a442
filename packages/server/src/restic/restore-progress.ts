import type { Clock } from '@lateen/kube'
import type { DataPathProgress } from '@lateen/repo/unified'
import { folderSize } from './folder-size.ts'

/** How far a volume has come. */
export interface VolumeProgress {
  readonly bytesDone: number
  readonly totalBytes: number
}

export interface RestoreProgressOptions {
  clock: Clock
  onProgress(progress: VolumeProgress): void
}

/** Between two looks at all files of a volume. */
const EVERY_MS = 10_000

/**
 * Tells how far a restore has come: by what restic says, and where it says nothing, as before its version 0.16, by what is there. Disposing
 * ends it.
 */
export class RestoreProgress implements AsyncDisposable {
  readonly #folder: string
  readonly #options: RestoreProgressOptions
  readonly #ended = new AbortController()
  readonly #looking: Promise<void>
  #totalBytes = 0

  constructor(folder: string, options: RestoreProgressOptions) {
    this.#folder = folder
    this.#options = options
    this.#looking = this.#look().catch(() => undefined)
  }

  /** Takes what restic said. */
  heard({ bytesDone, totalBytes }: DataPathProgress): void {
    this.#totalBytes = totalBytes ?? this.#totalBytes
    if (bytesDone > 0) this.#ended.abort()
    this.#options.onProgress({ bytesDone, totalBytes: this.#totalBytes })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#looking
  }

  async #look(): Promise<void> {
    const { clock, onProgress } = this.#options
    const { signal } = this.#ended
    for (;;) {
      await clock.sleep(EVERY_MS, signal)
      const size = await folderSize(this.#folder, signal)
      signal.throwIfAborted()
      const totalBytes = this.#totalBytes
      onProgress({ bytesDone: Math.min(size, totalBytes), totalBytes })
    }
  }
}

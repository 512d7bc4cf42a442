import type { Clock } from '../clock/clock.ts'

/** How far an upload has come. Totals are an estimate and absent until there is one. */
export interface UploadProgress {
  /** Files and symlinks that were read, and their bytes. */
  filesRead: number
  bytesRead: number
  /** Files and symlinks found unchanged in the previous snapshot, and their bytes. */
  filesCached: number
  bytesCached: number
  directories: number
  excludedFiles: number
  excludedBytes: number
  excludedDirectories: number
  /** Devices, fifos and sockets, and files that were gone before they could be read. */
  skipped: number
  errors: number
  ignoredErrors: number
  totalFiles?: number
  totalBytes?: number
  /** Bytes read or found unchanged per second since the start. */
  bytesPerSecond: number
  /** The file or folder in work, relative to the root. */
  path: string
}

const reportInterval = 250

/** Counts what an upload does and reports it a few times per second. */
export class ProgressCounter {
  readonly counts: UploadProgress = {
    filesRead: 0,
    bytesRead: 0,
    filesCached: 0,
    bytesCached: 0,
    directories: 0,
    excludedFiles: 0,
    excludedBytes: 0,
    excludedDirectories: 0,
    skipped: 0,
    errors: 0,
    ignoredErrors: 0,
    bytesPerSecond: 0,
    path: '',
  }
  readonly #clock: Clock
  readonly #report: ((progress: UploadProgress) => void) | undefined
  readonly #started: number
  #reported: number

  constructor(clock: Clock, report?: (progress: UploadProgress) => void) {
    this.#clock = clock
    this.#report = report
    this.#started = clock.now()
    this.#reported = this.#started
  }

  /** A copy of the counts, with the rate up to now. */
  snapshot(): UploadProgress {
    const { bytesRead, bytesCached } = this.counts
    const seconds = (this.#clock.now() - this.#started) / 1000
    return {
      ...this.counts,
      bytesPerSecond: seconds > 0 ? Math.round((bytesRead + bytesCached) / seconds) : 0,
    }
  }

  /** Reports when the last report is some time ago, or in any case when `now` is true. */
  tell(now = false): void {
    if (!this.#report) return
    const time = this.#clock.now()
    if (!now && time - this.#reported < reportInterval) return
    this.#reported = time
    this.#report(this.snapshot())
  }

  /** Sets the totals that are expected in the end. */
  expect(totals: { files: number; bytes: number }): void {
    this.counts.totalFiles = totals.files
    this.counts.totalBytes = totals.bytes
  }
}

import { RepoError } from '../errors/repo-error.ts'
import type { IncompleteReason } from './directory.ts'
import type { DirectoryBuilder } from './directory-builder.ts'
import { KeptObjects } from './kept-objects.ts'
import { ProgressCounter } from './progress.ts'
import { SmallFiles } from './small-files.ts'
import { emptyStats } from './snapshot-manifest.ts'
import type { UploadSettings, UploadTarget } from './upload-options.ts'
import { UploadThreads } from './upload-threads.ts'
import { Pace } from './walk/pace.ts'
import { SharedWork } from './walk/shared-work.ts'
import { SourceReadError } from './walk/source-entry.ts'
import { OpenFolders } from './walk/source-folder.ts'
import { SmallObjectWriter } from './write-small-object.ts'

/** Thrown inside an upload that ends early on purpose; what is there becomes an incomplete snapshot. */
export class UploadStopped extends Error {
  override readonly name = 'UploadStopped'
}

/** One upload under way: what all its parts share. */
export class UploadRun {
  readonly target: UploadTarget
  readonly settings: UploadSettings
  readonly progress: ProgressCounter
  readonly pace: Pace
  readonly work: SharedWork
  readonly small: SmallObjectWriter
  readonly kept: KeptObjects
  readonly threads: UploadThreads
  readonly files: SmallFiles
  readonly folders = new OpenFolders()
  readonly stats = emptyStats()
  #failure: { error: unknown } | undefined

  constructor(target: UploadTarget, settings: UploadSettings) {
    this.target = target
    this.settings = settings
    this.progress = new ProgressCounter(settings.clock, settings.onProgress)
    this.pace = new Pace(settings.clock)
    this.work = new SharedWork(settings.parallel - 1)
    this.small = new SmallObjectWriter(target)
    this.kept = new KeptObjects(target.contents, this.signal)
    this.threads = new UploadThreads({
      target,
      count: settings.threads,
      from: settings.threadsFrom,
      signal: this.signal,
      onFailed: error => this.fail(error),
    })
    this.files = new SmallFiles(this)
  }

  /** For calls to the repository. A cancelled upload that is to be kept must still be able to write. */
  get signal(): AbortSignal | undefined {
    return this.settings.keepCancelled ? undefined : this.settings.signal
  }

  /** Why the snapshot will be incomplete; undefined while it may still become complete. */
  get incomplete(): IncompleteReason | undefined {
    const { signal, maxUploadBytes = 0 } = this.settings
    if (signal?.aborted) return 'canceled'
    return maxUploadBytes > 0 && this.progress.counts.bytesRead > maxUploadBytes ? 'limit reached' : undefined
  }

  /** Remembers the first error that ends the upload; everything in work stops at its next check. */
  fail(error: unknown): void {
    if (!(error instanceof UploadStopped)) this.#failure ??= { error }
  }

  /** Throws the error that ended the upload, if any. */
  throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error
  }

  /** Throws the error that ended the upload, CANCELLED, or UploadStopped where the rest is to be kept. */
  check(): void {
    this.throwIfFailed()
    const reason = this.incomplete
    if (reason === undefined) return
    if (reason === 'canceled' && !this.settings.keepCancelled) {
      throw new RepoError('CANCELLED', {
        message: 'The upload was cancelled',
        cause: this.settings.signal?.reason,
      })
    }
    throw new UploadStopped()
  }

  /**
   * Runs the work of the upload, and ends its threads after it: what they have finished is kept unless the upload failed. Folders
   * are closed when no thread reads in them any more.
   */
  async withThreads<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.settings
    const stop = () => this.threads.stop(this.#whyStopped())
    signal?.addEventListener('abort', stop)
    let keep = false
    try {
      const result = await work()
      keep = true
      return result
    } finally {
      signal?.removeEventListener('abort', stop)
      try {
        await this.threads.end({ keep })
      } finally {
        this.folders.close()
      }
    }
  }

  #whyStopped(): unknown {
    try {
      this.check()
    } catch (error) {
      return error
    }
    return new UploadStopped()
  }

  /** Lets the event loop run when it is due, and reports progress then. */
  async breathe(): Promise<void> {
    if (!this.pace.due) return
    await this.pace.rest()
    this.progress.tell()
  }

  /**
   * Notes an entry that could not be read: in the summary of its folder, or by ending the upload where the first
   * error is fatal. Throws RepoError SOURCE_FAILED in that case, and any error that is not about the source.
   */
  noteFailure(failed: { error: unknown; path: string; ignored: boolean }, builder: DirectoryBuilder): void {
    const { error, path, ignored } = failed
    if (!(error instanceof SourceReadError)) throw error
    this.settings.log.warn({ path, error: error.message, ignored }, 'an entry could not be read')
    if (ignored) this.stats.ignoredErrorCount++
    else this.stats.errorCount++
    if (ignored) this.progress.counts.ignoredErrors++
    else this.progress.counts.errors++
    builder.addFailure({ path, error: error.message }, ignored)
    if (this.settings.failFast && !ignored) throw sourceFailed(path, error)
  }
}

/** SOURCE_FAILED for a path of the source. */
export function sourceFailed(path: string, cause: Error): RepoError {
  return new RepoError('SOURCE_FAILED', {
    message: `${path} could not be read: ${cause.message}`,
    hint: 'Correct its permissions, exclude it, or let the policy ignore such errors',
    path,
    cause,
  })
}

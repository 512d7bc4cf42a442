import { isRepoError, RepoError, type RepoErrorCode } from '../errors/repo-error.ts'
import { type EntryPath, formatEntryPath } from './entry-name.ts'

/** How far a restore is. */
export interface RestoreProgress {
  files: number
  folders: number
  symlinks: number
  /** Bytes of file data written. */
  bytes: number
  /** Files found unchanged in the target, and their bytes. */
  skippedFiles: number
  skippedBytes: number
  /** Removed because the snapshot does not have them. */
  deleted: number
  failed: number
  /** What the snapshot's summary promises; absent when it has none. */
  totalFiles?: number
  totalBytes?: number
}

/** One entry that could not be restored, or not in every respect. */
export interface RestoreProblem {
  /** Below the snapshot's root. */
  path: string
  error: RepoError
}

/** What a restore did. */
export interface RestoreResult extends RestoreProgress {
  /** Entries that are missing or wrong in the target; `failed` counts them all, the first thousand are listed. */
  problems: RestoreProblem[]
  /** What could not be kept although the data is there: owners without privilege, rounded times. */
  notes: string[]
}

const listedProblems = 1000
const listedNotes = 100

/** How a report behaves. */
export interface ReportOptions {
  /** Throws the first problem instead of listing it. */
  failFast: boolean
  onProgress: ((progress: Readonly<RestoreProgress>) => void) | undefined
}

/** Collects what happens during a restore. */
export class RestoreReport {
  readonly progress: RestoreProgress
  readonly #problems: RestoreProblem[] = []
  readonly #notes = new Set<string>()
  readonly #options: ReportOptions

  constructor(totals: { files: number; bytes: number } | undefined, options: ReportOptions) {
    this.progress = {
      ...{
        files: 0,
        folders: 0,
        symlinks: 0,
        bytes: 0,
        skippedFiles: 0,
        skippedBytes: 0,
        deleted: 0,
        failed: 0,
      },
      ...(totals && { totalFiles: totals.files, totalBytes: totals.bytes }),
    }
    this.#options = options
  }

  /** Counts something and tells the listener. */
  count(what: Exclude<keyof RestoreProgress, 'totalFiles' | 'totalBytes'>, amount = 1): void {
    this.progress[what] += amount
    this.#options.onProgress?.(this.progress)
  }

  /** Records an entry that is not restored. Throws what ends the whole restore, and anything with `failFast`. */
  fail(path: EntryPath | undefined, cause: unknown): void {
    if (isRepoError(cause, 'CANCELLED')) throw cause
    const place = formatEntryPath(path)
    const error = entryError(place, cause)
    if (endsRestore(cause)) throw error
    if (this.#problems.length < listedProblems) this.#problems.push({ path: place, error })
    this.count('failed')
    if (this.#options.failFast) throw error
  }

  /** Records once that something is not as exact as it could be. */
  note(text: string): void {
    if (this.#notes.size < listedNotes) this.#notes.add(text)
  }

  result(): RestoreResult {
    return { ...this.progress, problems: this.#problems, notes: [...this.#notes] }
  }
}

// What would befall every further entry too: the target is full or gone, or the storage does not answer any more.
function endsRestore(cause: unknown): boolean {
  if (isRepoError(cause)) return cause.code === 'STORAGE_FAILED' || cause.code === 'LOCKED'
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'].includes(
    (cause as NodeJS.ErrnoException | undefined)?.code ?? '',
  )
}

function entryError(place: string, cause: unknown): RepoError {
  const printed = place === '' ? 'the root of the snapshot' : JSON.stringify(place)
  if (isRepoError(cause)) {
    const { hint, retryable, blobId, contentId, objectId } = cause
    const message = `${printed} is not restored: ${cause.message}`
    const details = { message, hint, retryable, blobId, contentId, objectId, path: place, cause }
    return new RepoError(cause.code, details)
  }
  const reason = cause instanceof Error ? cause.message : String(cause)
  const { code, hint } = explain(cause)
  return new RepoError(code, { message: `${printed} is not restored: ${reason}`, hint, path: place, cause })
}

function explain(cause: unknown): { code: RepoErrorCode; hint: string } {
  switch ((cause as NodeJS.ErrnoException | undefined)?.code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return {
        code: 'TARGET_FAILED',
        hint: 'make room in the target and restore again; files that are there can be skipped',
      }
    case 'EACCES':
    case 'EPERM':
      return { code: 'TARGET_FAILED', hint: 'restore as a user who may write there' }
    case 'EROFS':
      return { code: 'TARGET_FAILED', hint: 'the target is mounted read-only' }
    case 'ENAMETOOLONG':
      return {
        code: 'TARGET_FAILED',
        hint: 'the file system of the target does not take names this long; restore to a tar archive',
      }
    case 'ELOOP':
    case 'ENOTDIR':
      return {
        code: 'UNSAFE_PATH',
        hint: 'something in the target was replaced by a symlink during the restore',
      }
    default:
      return { code: 'TARGET_FAILED', hint: 'restore again when the target can be written' }
  }
}

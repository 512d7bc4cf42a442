import { isRepoError, type RepoError } from '../errors/repo-error.ts'

/** What a finding is about, from the bottom of the repository to its top. */
export type VerifiedThing = 'blob' | 'content' | 'manifest' | 'directory' | 'file'

/** Something that is wrong, with every name that is known for it. */
export interface VerifyProblem {
  what: VerifiedThing
  /** Says what is wrong and names it; its `code` tells missing from damaged. */
  error: RepoError
  blobId?: string | undefined
  contentId?: string | undefined
  snapshotId?: string | undefined
  /** In the snapshot. */
  path?: string | undefined
}

/** How far a verification is. */
export interface VerifyProgress {
  /** Blobs listed. */
  blobs: number
  /** Index, session, log and other single blobs read and understood. */
  blobsRead: number
  /** Contents whose place in a pack was checked. */
  contents: number
  /** Contents that were read, decrypted and hashed, and their bytes in packs. */
  contentsRead: number
  bytesRead: number
  snapshots: number
  directories: number
  files: number
  problems: number
}

/** What a verification found. */
export interface VerifyResult extends VerifyProgress {
  /** True when nothing is wrong. */
  ok: boolean
  /** The first ten thousand. */
  found: VerifyProblem[]
}

const listedProblems = 10_000

/** Collects what a verification finds. */
export class VerifyReport {
  readonly #progress: VerifyProgress = {
    blobs: 0,
    blobsRead: 0,
    contents: 0,
    contentsRead: 0,
    bytesRead: 0,
    snapshots: 0,
    directories: 0,
    files: 0,
    problems: 0,
  }
  readonly #found: VerifyProblem[] = []
  readonly #onProgress: ((progress: Readonly<VerifyProgress>) => void) | undefined

  constructor(onProgress?: (progress: Readonly<VerifyProgress>) => void) {
    this.#onProgress = onProgress
  }

  /** Counts something and tells the listener. */
  count(what: keyof VerifyProgress, amount = 1): void {
    this.#progress[what] += amount
    this.#onProgress?.(this.#progress)
  }

  /** Records a finding. */
  add(problem: VerifyProblem): void {
    if (this.#found.length < listedProblems) this.#found.push(problem)
    this.count('problems')
  }

  result(): VerifyResult {
    return { ...this.#progress, ok: this.#progress.problems === 0, found: this.#found }
  }
}

/** True for errors that say something is wrong with the repository; a storage that fails is not such a finding. */
export function isFinding(error: unknown): error is RepoError {
  return (
    isRepoError(error, 'CORRUPT') ||
    isRepoError(error, 'BLOB_NOT_FOUND') ||
    isRepoError(error, 'INVALID_RANGE') ||
    isRepoError(error, 'CONTENT_NOT_FOUND') ||
    isRepoError(error, 'OBJECT_NOT_FOUND') ||
    isRepoError(error, 'NOT_A_REPOSITORY') ||
    isRepoError(error, 'BAD_PASSWORD') ||
    isRepoError(error, 'UNSUPPORTED_FORMAT') ||
    isRepoError(error, 'INVALID_ARGUMENT')
  )
}

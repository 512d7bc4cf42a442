import { isRepoError, RepoError, type RepoErrorCode } from '../errors/repo-error.ts'

/** What was being done to which file when the operating system refused. */
export interface FileOperation {
  /** In the words of a sentence: "write blob p123". */
  readonly doing: string
  readonly path: string
  readonly writing: boolean
  readonly blobId?: string | undefined
}

interface Explanation {
  readonly code: RepoErrorCode
  readonly reason: string
  readonly hint: string
  readonly retryable?: boolean
}

const full: Explanation = {
  code: 'STORAGE_FULL',
  reason: 'no space is left',
  hint: 'Free space or raise the quota, then run the same again: nothing half-written stays visible.',
}

const denied: Explanation = {
  code: 'STORAGE_FAILED',
  reason: 'permission denied',
  hint: 'Run as the user who owns the repository, or give this user access to it.',
}

const tooManyFiles: Explanation = {
  code: 'STORAGE_FAILED',
  reason: 'too many files are open',
  hint: 'Raise the limit of open files (ulimit -n).',
  retryable: true,
}

const explanations: Readonly<Record<string, Explanation>> = {
  ENOSPC: full,
  EDQUOT: full,
  EROFS: {
    code: 'READ_ONLY',
    reason: 'the file system is mounted read-only',
    hint: 'Mount it for writing, or open the repository read-only.',
  },
  EACCES: denied,
  EPERM: denied,
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
  ELOOP: {
    code: 'STORAGE_FAILED',
    reason: 'a symbolic link is in the place of a file or folder of the repository',
    hint: 'Links are not followed, as they may lead out of the repository; move what it points to there.',
  },
  ENOTDIR: {
    code: 'STORAGE_FAILED',
    reason: 'a file is in the place of a folder',
    hint: 'Something else writes into the repository; move the file away.',
  },
  EISDIR: {
    code: 'STORAGE_FAILED',
    reason: 'a folder is in the place of a file',
    hint: 'Something else writes into the repository; move the folder away.',
  },
}

/** The error of the operating system as one of ours; ours pass unchanged. */
export function filesystemError(error: unknown, operation: FileOperation): RepoError {
  if (isRepoError(error)) return error
  const { code, reason, hint, retryable } = explanationOf(error, operation)
  return new RepoError(code, {
    message: `Cannot ${operation.doing} (${operation.path}): ${reason}`,
    hint,
    cause: error,
    retryable: retryable ?? false,
    blobId: operation.blobId,
    path: operation.path,
  })
}

function explanationOf(error: unknown, { writing }: FileOperation): Explanation {
  const known = explanations[errnoOf(error) ?? '']
  if (known === denied && writing) return { ...denied, code: 'READ_ONLY' }
  return (
    known ?? {
      code: 'STORAGE_FAILED',
      reason: error instanceof Error ? error.message : String(error),
      hint: "Check the disk or mount and the kernel's log.",
      retryable: true,
    }
  )
}

/** The operating system's name of an error, such as `ENOENT`. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

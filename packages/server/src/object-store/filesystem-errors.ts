import { ObjectStoreError, type ObjectStoreErrorCode, type ObjectStoreErrorDetails } from '@lateen/plugin'

interface Meaning {
  code: ObjectStoreErrorCode
  says: string
  hint?: string
}

const full: Meaning = {
  code: 'FULL',
  says: 'there is no space left on its file system',
  hint: 'Free space there or enlarge it; unfinished writes were taken back',
}
const forbidden: Meaning = {
  code: 'ACCESS_DENIED',
  says: 'the operating system denies access',
  hint: "Give the server's user read, write and search permission on that folder and on those above it",
}

const meanings: Readonly<Record<string, Meaning>> = {
  ENOSPC: full,
  EDQUOT: { ...full, says: 'the disk quota is used up' },
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: {
    code: 'ACCESS_DENIED',
    says: 'its file system is mounted read-only',
    hint: 'Mount it read-write, or set the access mode of the location to ReadOnly',
  },
  ENAMETOOLONG: { code: 'UNSAFE_KEY', says: 'the name is too long for its file system' },
  EIO: {
    code: 'STORE_FAULT',
    says: 'the disk reported an input/output error',
    hint: "Check the disk and the kernel's log",
  },
  ESTALE: {
    code: 'STORE_FAULT',
    says: 'the network file system lost the file handle',
    hint: 'Check the server of the mount, then mount it again',
  },
}

/** The `code` of an error of `node:fs`, or undefined for any other value. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Turns a failure of the file system at a path into an `ObjectStoreError`; those pass through, and so do aborts. */
export function filesystemError(error: unknown, action: string, path: string): unknown {
  if (error instanceof ObjectStoreError || errnoOf(error) === undefined) return error
  if (error instanceof Error && error.name === 'AbortError') return error
  const code = errnoOf(error) ?? ''
  const meaning = meanings[code] ?? { code: 'UNKNOWN' as const, says: `the file system answered ${code}` }
  const details: ObjectStoreErrorDetails = {
    reason: `cannot ${action} ${path}: ${meaning.says}`,
    cause: error,
  }
  if (meaning.hint !== undefined) details.hint = meaning.hint
  return new ObjectStoreError(meaning.code, details)
}

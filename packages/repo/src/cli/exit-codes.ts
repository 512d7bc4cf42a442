import type { RepoErrorCode } from '../errors/repo-error.ts'

/** Every exit code with what it means, in the order the help prints them. */
export const exitCodes = {
  ok: { code: 0, meaning: 'all done' },
  failed: { code: 1, meaning: 'failed; the message says why' },
  usage: { code: 2, meaning: 'the command line is wrong' },
  noRepository: { code: 3, meaning: 'there is no repository, or none that can be used' },
  badPassword: { code: 4, meaning: 'wrong password' },
  damaged: { code: 5, meaning: 'damaged data was found' },
  notFound: { code: 6, meaning: 'no such snapshot, file, content or blob' },
  partial: { code: 7, meaning: 'done, but some files were left out' },
  notNow: { code: 8, meaning: 'not allowed now: locked, owned by somebody else or the clock is off' },
  interrupted: { code: 130, meaning: 'interrupted' },
} as const

/** The name of an exit code. */
export type ExitName = keyof typeof exitCodes

const exitOfError: Partial<Record<RepoErrorCode, ExitName>> = {
  INVALID_ARGUMENT: 'usage',
  NOT_A_REPOSITORY: 'noRepository',
  UNSUPPORTED_FORMAT: 'noRepository',
  BAD_PASSWORD: 'badPassword',
  CORRUPT: 'damaged',
  BLOB_NOT_FOUND: 'notFound',
  CONTENT_NOT_FOUND: 'notFound',
  OBJECT_NOT_FOUND: 'notFound',
  MANIFEST_NOT_FOUND: 'notFound',
  LOCKED: 'notNow',
  NOT_OWNER: 'notNow',
  CLOCK_SKEW: 'notNow',
  CANCELLED: 'interrupted',
}

/** The exit code for an error of the engine. */
export function exitCodeOf(code: RepoErrorCode): number {
  return exitCodes[exitOfError[code] ?? 'failed'].code
}

import { RepoError, type RepoErrorCode } from '../../errors/repo-error.ts'

/** How a restic process ended. */
export interface ResticFailure {
  readonly command: string
  readonly repository: string
  readonly exitCode: number | null
  /** What killed it, if something did. */
  readonly signal?: string | null
  /** The end of what it wrote to stderr. */
  readonly stderr: string
}

interface KnownFailure {
  readonly code: RepoErrorCode
  readonly pattern: RegExp
  /** The exit code that restic 0.17 and later use for it. */
  readonly exitCode?: number
  readonly hint: string
}

// Order matters: a wrong password on a missing repository is a missing repository.
const knownFailures: readonly KnownFailure[] = [
  {
    code: 'NOT_A_REPOSITORY',
    pattern:
      /Is there a repository at the following location|unable to open config file|repository does not exist/i,
    exitCode: 10,
    hint: 'check the location, or initialise the repository first',
  },
  {
    code: 'ALREADY_EXISTS',
    pattern: /config file already exists|already initialized/i,
    hint: 'connect to the repository instead of creating it',
  },
  {
    code: 'BAD_PASSWORD',
    pattern: /wrong password or no key found/i,
    exitCode: 12,
    hint: 'use the password that the repository was created with',
  },
  {
    code: 'LOCKED',
    pattern: /repository is already locked|unable to create lock/i,
    exitCode: 11,
    hint: 'wait for the other process, or unlock the repository when there is none',
  },
  {
    code: 'MANIFEST_NOT_FOUND',
    pattern: /no matching ID found|no snapshot found|failed to find snapshot/i,
    hint: 'list the snapshots of the repository',
  },
  { code: 'STORAGE_FULL', pattern: /no space left on device|quota exceeded/i, hint: 'free some space' },
  {
    code: 'CORRUPT',
    pattern: /repository contains errors|ciphertext verification failed|hash does not match/i,
    hint: 'run restic check on it',
  },
]

/** The error for a restic process that did not succeed, with its own last words as the reason. */
export function resticError(failure: ResticFailure): RepoError {
  const known = knownFailures.find(
    ({ pattern, exitCode }) =>
      pattern.test(failure.stderr) || (exitCode !== undefined && exitCode === failure.exitCode),
  )
  return new RepoError(known?.code ?? 'TOOL_FAILED', {
    message: `restic ${failure.command} of ${failure.repository} failed: ${reasonOf(failure)}`,
    hint: known?.hint ?? 'run the same restic command by hand for more',
  })
}

function reasonOf({ stderr, exitCode, signal }: ResticFailure): string {
  if (signal) return `it was killed by ${signal}`
  const lines = stderr.split('\n').map(line => line.trim())
  const fatal = lines.find(line => line.startsWith('Fatal:'))
  const last = lines.filter(line => line !== '').at(-1)
  const reason = fatal?.slice('Fatal:'.length).trim() ?? last ?? `exit code ${exitCode ?? 'none'}`
  // A restore goes on after an error, and in the end only counts them.
  const ignored = lines.find(line => line.startsWith(goneOnAfter))
  return ignored === undefined ? reason : `${reason}, the first of them ${ignored.slice(goneOnAfter.length)}`
}

const goneOnAfter = 'ignoring error for '

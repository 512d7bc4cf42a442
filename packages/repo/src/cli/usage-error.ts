import { RepoError } from '../errors/repo-error.ts'

/** The error for a command line that cannot be understood. */
export function usageError(message: string, hint = 'add --help for usage'): RepoError {
  return new RepoError('INVALID_ARGUMENT', { message, hint })
}

import { RepoError } from '../errors/repo-error.ts'

/** Where nobody may write, a repository that is not there is not made either. */
export function notCreated(): RepoError {
  return new RepoError('READ_ONLY', {
    message: 'there is no repository yet, and its location is read-only',
    hint: 'make the location writable to have one, or see whether its bucket and prefix are the right ones',
  })
}

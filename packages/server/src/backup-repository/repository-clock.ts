import type { Clock } from '@lateen/kube'
import { RepoError, type Clock as RepositoryClock } from '@lateen/repo'

/** A clock as repositories want it: a wait that is aborted ends with their own error. */
export function repositoryClock(clock: Clock): RepositoryClock {
  return {
    now: () => clock.now(),
    async sleep(ms, signal) {
      try {
        await clock.sleep(ms, signal)
      } catch (cause) {
        throw new RepoError('CANCELLED', { message: 'The wait was cancelled', cause })
      }
    },
  }
}

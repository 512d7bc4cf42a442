import { isTerminal, type Restore, RestoreKind } from '@lateen/api'
import type { ResourceClient } from '@lateen/kube'
import type { FollowOptions } from '../commands/follow-object.ts'
import type { Progress } from '../output/progress.ts'
import type { Counts } from '../progress/progress-tracker.ts'
import { watchToEnd } from '../progress/watch-to-end.ts'

/** Reports progress until the restore has ended, and returns it as it is then. Throws what watchToEnd throws. */
export function watchRestore(
  created: Restore,
  restores: ResourceClient<Restore>,
  options: FollowOptions,
): AsyncGenerator<Progress, Restore> {
  return watchToEnd(created, restores, {
    ...options,
    one: 'restore',
    hasEnded: ({ status }) => isTerminal(RestoreKind, status?.phase),
    counts: countsOf,
  })
}

function countsOf({ status = {} }: Restore): Counts {
  return {
    phase: status.phase || 'New',
    done: status.progress?.itemsRestored ?? 0,
    total: status.progress?.totalItems ?? 0,
  }
}

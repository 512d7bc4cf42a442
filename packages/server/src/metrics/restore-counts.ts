import type { Restore, RestorePhase } from '@lateen/api'

export type RestoreResult = 'success' | 'partial failure' | 'failure' | 'validation failure'

/** What a change of a restore adds to metrics. */
export interface RestoreCounts {
  /** It was looked at for the first time, whether it is valid or not. */
  attempt: boolean
  result: RestoreResult | undefined
  /** Objects that were restored meanwhile. */
  items: number
}

const results: Partial<Record<RestorePhase, RestoreResult>> = {
  Completed: 'success',
  PartiallyFailed: 'partial failure',
  Failed: 'failure',
  FailedValidation: 'validation failure',
}

/** Steps that nobody has seen count, too: a watch may leave some out. */
export function countsOfRestore(before: Restore, now: Restore): RestoreCounts {
  const isNew = ({ status }: Restore) => (status?.phase ?? 'New') === 'New'
  const resultOf = ({ status }: Restore) => status?.phase && results[status.phase]
  const isOver = resultOf(before) !== undefined
  const items = (now.status?.progress?.itemsRestored ?? 0) - (before.status?.progress?.itemsRestored ?? 0)
  return {
    attempt: isNew(before) && !isNew(now),
    result: isOver ? undefined : resultOf(now),
    items: isOver ? 0 : Math.max(0, items),
  }
}

import type { Backup, BackupPhase } from '@lateen/api'

export type BackupResult = 'success' | 'partial failure' | 'failure' | 'validation failure'

/** What a change of a backup adds to metrics. */
export interface BackupCounts {
  /** Its work began. */
  attempt: boolean
  /** All objects are written, or it failed before that. */
  written: boolean
  /** It ended. */
  result: BackupResult | undefined
  /** Objects that were written meanwhile. */
  items: number
}

const results: Partial<Record<BackupPhase, BackupResult>> = {
  Completed: 'success',
  PartiallyFailed: 'partial failure',
  Failed: 'failure',
  FailedValidation: 'validation failure',
}

const afterWriting: readonly BackupPhase[] = [
  ...(['WaitingForPluginOperations', 'WaitingForPluginOperationsPartiallyFailed'] as const),
  ...(['Finalizing', 'FinalizingPartiallyFailed', 'Completed', 'PartiallyFailed', 'Failed'] as const),
]

/** How a backup ended, if it did. */
export function resultOf({ status }: Backup): BackupResult | undefined {
  return status?.phase && results[status.phase]
}

/** Steps that nobody has seen count, too: a watch may leave some out. */
export function countsOfBackup(before: Backup, now: Backup): BackupCounts {
  const isOver = resultOf(before) !== undefined || before.status?.phase === 'Deleting'
  const isDeleted = now.status?.phase === 'Deleting'
  const written = (backup: Backup) => afterWriting.some(phase => phase === backup.status?.phase)
  const items = (now.status?.progress?.itemsBackedUp ?? 0) - (before.status?.progress?.itemsBackedUp ?? 0)
  return {
    attempt: !isOver && !isDeleted && !hasBegun(before) && hasBegun(now),
    written: !isOver && !written(before) && written(now),
    result: isOver ? undefined : resultOf(now),
    items: isOver ? 0 : Math.max(0, items),
  }
}

function hasBegun(backup: Backup): boolean {
  const { phase, startTimestamp } = backup.status ?? {}
  if (phase === 'Failed') return typeof startTimestamp === 'string'
  return phase === 'InProgress' || afterWriting.some(later => later === phase)
}

import type { BackupOperation } from '../operations/backup-operation.ts'

/** What is left of a backup that failed or was deleted, and may go better another time. */
export interface LeftBehind {
  /** How many operations are not told to stop, because their plugins did not answer. */
  unheard: number
  /** Snapshots that are still there. */
  snapshots: readonly BackupOperation[]
}

/** So many are named; there may be thousands. */
const NAMED = 10

/** Operations of a backup that failed or was deleted go on, or snapshots of it are still there. */
export class LeftBehindError extends Error {
  override readonly name = 'LeftBehindError'
  readonly code = 'OPERATIONS_LEFT_BEHIND'

  constructor(left: LeftBehind) {
    super([...operationsIn(left), ...snapshotsIn(left)].join('; '))
  }
}

function operationsIn({ unheard }: LeftBehind): string[] {
  return unheard === 0 ? [] : [`${unheard} operations could not be told to stop: their plugins do not answer`]
}

function snapshotsIn({ snapshots }: LeftBehind): string[] {
  if (snapshots.length === 0) return []
  const named = snapshots
    .slice(0, NAMED)
    .map(({ spec }) => `${spec.operationID} of the location ${spec.volumeSnapshotLocation}`)
  const more = snapshots.length > NAMED ? [`${snapshots.length - NAMED} more`] : []
  return [`snapshots could not be deleted: ${[...named, ...more].join(', ')}`]
}

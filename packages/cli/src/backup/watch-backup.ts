import { type Backup, BackupKind, isTerminal } from '@lateen/api'
import type { ResourceClient } from '@lateen/kube'
import type { FollowOptions } from '../commands/follow-object.ts'
import type { Progress } from '../output/progress.ts'
import type { Counts } from '../progress/progress-tracker.ts'
import { watchToEnd } from '../progress/watch-to-end.ts'

/** Reports progress until the backup has ended, and returns it as it is then. Throws what watchToEnd throws. */
export function watchBackup(
  created: Backup,
  backups: ResourceClient<Backup>,
  options: FollowOptions,
): AsyncGenerator<Progress, Backup> {
  return watchToEnd(created, backups, {
    ...options,
    one: 'backup',
    hasEnded: ({ status }) => isTerminal(BackupKind, status?.phase),
    counts: countsOf,
  })
}

function countsOf({ status = {} }: Backup): Counts {
  return {
    phase: status.phase || 'New',
    queuePosition: status.queuePosition,
    done: status.progress?.itemsBackedUp ?? 0,
    total: status.progress?.totalItems ?? 0,
  }
}

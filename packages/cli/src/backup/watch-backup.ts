import { type Backup, BackupKind, isTerminal } from '@lateen/api'
import type { ResourceClient } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import { eachSecondUntil } from '../commands/each-second.ts'
import { type FollowOptions, followObject } from '../commands/follow-object.ts'
import type { Progress } from '../output/progress.ts'
import { ProgressTracker } from './progress-tracker.ts'

/**
 * Reports progress until the backup has ended, and returns it as it is then. Throws a CliError (`NOT_FOUND`) when it is
 * deleted meanwhile, the signal's reason when aborted, and KubeErrors.
 */
export async function* watchBackup(
  created: Backup,
  backups: ResourceClient<Backup>,
  options: FollowOptions,
): AsyncGenerator<Progress, Backup> {
  const { clock } = options
  const tracker = new ProgressTracker(clock.now())
  let latest = created
  const end = (async () => {
    for await (const seen of followObject(backups, created, options)) {
      if (seen === undefined) throw gone(created)
      latest = seen
      if (isTerminal(BackupKind, seen.status?.phase)) return seen
    }
    throw gone(created)
  })()
  const ticks = eachSecondUntil(end, clock)
  for (;;) {
    const tick = await ticks.next()
    if (tick.done) return tick.value
    yield tracker.seen(countsOf(latest), clock.now())
  }
}

function countsOf({ status = {} }: Backup) {
  return {
    phase: status.phase || 'New',
    queuePosition: status.queuePosition,
    done: status.progress?.itemsBackedUp ?? 0,
    total: status.progress?.totalItems ?? 0,
  }
}

function gone({ metadata }: Backup): CliError {
  return new CliError('NOT_FOUND', `backup "${metadata.name}" was deleted while it was waited for`)
}

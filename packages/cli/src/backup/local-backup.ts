import path from 'node:path'
import type { Backup } from '@lateen/api'
import type { LocalBackupResult } from '@lateen/server'
import { eachSecondUntil } from '../commands/each-second.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { Progress } from '../output/progress.ts'
import { type Counts, ProgressTracker } from '../progress/progress-tracker.ts'
import type { backupCreateFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'

type Call = CommandCall<typeof backupCreateFlags>

/** Takes the backup from here into the folder of `--local`; exit code 0 for Completed, else 1. */
export function localBackup(backup: Backup, call: Call): CommandResult {
  const end: { result?: LocalBackupResult } = {}
  return {
    show: 'lines',
    lines: takeBackup(backup, call, end),
    exitCode: () => (end.result?.phase === 'Completed' ? 0 : 1),
  }
}

async function* takeBackup(
  backup: Backup,
  call: Call,
  end: { result?: LocalBackupResult },
): AsyncGenerator<string | Progress> {
  const { clock, env, home, signal } = call.surroundings
  const { kubeconfig, kubecontext, features } = await call.settings()
  const folder = path.resolve(call.flags.local ?? '')
  yield `Taking backup "${backup.metadata.name}" into ${folder}. Volumes are not in it: they need the node agent.`
  const { runLocalBackup } = await import('@lateen/server')
  const tracker = new ProgressTracker(clock.now())
  let counts: Counts = { phase: 'InProgress', done: 0, total: 0 }
  const work = runLocalBackup(
    {
      backup,
      folder,
      kubeconfig,
      kubecontext,
      features,
      env: { ...env, HOME: home },
      onProgress: ({ itemsBackedUp: done, totalItems: total, current }) => {
        counts = { phase: 'InProgress', done, total, current: current.resource }
      },
    },
    signal,
  )
  const ticks = eachSecondUntil(work, clock)
  for (;;) {
    const tick = await ticks.next()
    if (tick.done) {
      end.result = tick.value
      yield* summary(tick.value)
      return
    }
    yield tracker.seen(counts, clock.now())
  }
}

function* summary({
  phase,
  failureReason,
  items,
  warnings,
  errors,
  folder,
}: LocalBackupResult): Generator<string> {
  yield `Backup completed with status: ${phase}: ${items} items, ${warnings} warnings, ${errors} errors.`
  if (failureReason) yield `It failed because ${failureReason}`
  yield `Its files are in ${folder}.`
}

import path from 'node:path'
import type { Restore } from '@lateen/api'
import type { LocalRestoreResult } from '@lateen/server'
import { eachSecondUntil } from '../commands/each-second.ts'
import { resultLines } from '../describe/describe-results.ts'
import { alignTabs } from '../output/align-tabs.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { Progress } from '../output/progress.ts'
import { type Counts, ProgressTracker } from '../progress/progress-tracker.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreCreateFlags } from '../tree/restore.ts'

type Call = CommandCall<typeof restoreCreateFlags>

/** Restores from here out of the folder of `--local`; exit code 0 for Completed, else 1. */
export function localRestore(restore: Restore, call: Call): CommandResult {
  const end: { result?: LocalRestoreResult } = {}
  return {
    show: 'lines',
    lines: makeRestore(restore, call, end),
    exitCode: () => (end.result?.phase === 'Completed' ? 0 : 1),
  }
}

async function* makeRestore(
  restore: Restore,
  call: Call,
  end: { result?: LocalRestoreResult },
): AsyncGenerator<string | Progress> {
  const { clock, env, home, signal } = call.surroundings
  const { kubeconfig, kubecontext, features } = await call.settings()
  const folder = path.resolve(call.flags.local ?? '')
  yield `Making restore "${restore.metadata.name}" from ${folder}. Data of volumes are not restored: they need the node agent.`
  const { runLocalRestore } = await import('@lateen/server')
  const tracker = new ProgressTracker(clock.now())
  let counts: Counts = { phase: 'InProgress', done: 0, total: 0 }
  const work = runLocalRestore(
    {
      ...{ restore, folder, kubeconfig, kubecontext, features },
      allowPartiallyFailed: call.flags['allow-partially-failed'],
      env: { ...env, HOME: home },
      onProgress: ({ itemsRestored: done, totalItems: total }) => {
        counts = { phase: 'InProgress', done, total }
      },
    },
    signal,
  )
  const ticks = eachSecondUntil(work, clock)
  for (;;) {
    const tick = await ticks.next()
    if (tick.done) {
      end.result = tick.value
      yield* summary(tick.value, folder)
      return
    }
    yield tracker.seen(counts, clock.now())
  }
}

function* summary(result: LocalRestoreResult, folder: string): Generator<string> {
  const { phase, backup, failureReason, items, warnings, errors, results } = result
  yield `Restore of backup "${backup}" completed with status: ${phase}: ${items} items, ${warnings} warnings, ${errors} errors.`
  if (failureReason) yield `It failed because ${failureReason}`
  if (warnings > 0 && results) yield table(resultLines('Warnings', results.warnings))
  if (errors > 0 && results && !failureReason) yield table(resultLines('Errors', results.errors))
  if (result.folder) yield `Its log and results are in ${result.folder}.`
  else yield `Its log and results could not be stored in ${folder}.`
}

function table(text: string): string {
  return alignTabs(text).trimEnd()
}

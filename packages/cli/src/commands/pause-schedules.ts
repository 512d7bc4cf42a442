import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { schedulePauseFlags } from '../tree/schedule.ts'
import { scheduleClient } from './schedule-client.ts'
import { requireOneWay, selectObjects } from './select-objects.ts'
import { skipImmediatelyOf } from './skip-flag.ts'
import { throwFailures } from './throw-failures.ts'

type Call = CommandCall<typeof schedulePauseFlags>

interface Pausing {
  readonly paused: boolean
  readonly skipImmediately: boolean | undefined
}

/** `schedule pause` and `unpause`: go on after a failure, and report all failures at the end. */
export function pauseSchedules(call: Call, paused: boolean): CommandResult {
  requireOneWay(call, 'schedule')
  const skipImmediately = skipImmediatelyOf(call.flags['skip-immediately'])
  return { show: 'lines', lines: pausing(call, { paused, skipImmediately }) }
}

async function* pausing(call: Call, { paused, skipImmediately }: Pausing): AsyncGenerator<string> {
  const { signal } = call.surroundings
  const { namespace } = await call.settings()
  await using client = await call.connect()
  const schedules = scheduleClient({ client, namespace, signal })
  const failures: unknown[] = []
  const found = await selectObjects(schedules, call, { failures })
  if (found.length === 0 && failures.length === 0) yield 'No schedules found'
  const done = paused ? 'paused' : 'unpaused'
  for (const { metadata, spec } of found) {
    const name = metadata.name ?? ''
    if ((spec.paused ?? false) === paused) {
      yield `Schedule ${name} is already ${done}, skip`
      continue
    }
    try {
      // As with Velero, an earlier wish to skip does not outlive a pause.
      const body = { spec: { paused, skipImmediately: skipImmediately ?? null } }
      await schedules.patch(name, { type: 'merge', body })
      yield `Schedule ${name} ${done} successfully`
    } catch (error) {
      failures.push(error)
    }
  }
  throwFailures(failures, 'changes')
}

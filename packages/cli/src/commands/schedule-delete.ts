import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { scheduleDeleteFlags } from '../tree/schedule.ts'
import { confirm } from './confirm.ts'
import { scheduleClient } from './schedule-client.ts'
import { requireOneWay, selectObjects } from './select-objects.ts'
import { throwFailures } from './throw-failures.ts'

type Call = CommandCall<typeof scheduleDeleteFlags>

/** `schedule delete`: asks first, goes on after a failure, and reports all failures at the end. */
export function run(call: Call): CommandResult {
  requireOneWay(call, 'schedule')
  return { show: 'lines', lines: deleteSchedules(call) }
}

async function* deleteSchedules(call: Call): AsyncGenerator<string> {
  const { signal } = call.surroundings
  const { namespace } = await call.settings()
  if (!call.flags.confirm && !(await confirm(call.surroundings))) return
  await using client = await call.connect()
  const schedules = scheduleClient({ client, namespace, signal })
  const failures: unknown[] = []
  const found = await selectObjects(schedules, call, { failures })
  if (found.length === 0 && failures.length === 0) yield 'No schedules found'
  for (const { metadata } of found) {
    try {
      await schedules.delete(metadata.name ?? '')
      yield `Schedule deleted: ${metadata.name}`
    } catch (error) {
      failures.push(error)
    }
  }
  throwFailures(failures, 'deletions')
}

import { describeSchedule } from '../describe/describe-schedule.ts'
import type { CommandResult } from '../output/command-result.ts'
import { paintFor } from '../output/paint.ts'
import type { CommandCall } from '../tree/command.ts'
import type { scheduleDescribeFlags } from '../tree/schedule.ts'
import { findObjects } from './object-client.ts'
import { scheduleClient } from './schedule-client.ts'

/** `schedule describe [NAMES]`: one after the other. */
export function run(call: CommandCall<typeof scheduleDescribeFlags>): CommandResult {
  return { show: 'text', chunks: descriptions(call) }
}

async function* descriptions(call: CommandCall<typeof scheduleDescribeFlags>): AsyncGenerator<string> {
  const { stdout, env, signal } = call.surroundings
  const { namespace, colorized } = await call.settings()
  await using client = await call.connect()
  const schedules = scheduleClient({ client, namespace, signal })
  const paint = paintFor(stdout, { env, colorized })
  const found = await findObjects(schedules, call.args, call.flags.selector)
  for (const [at, schedule] of found.entries()) {
    yield `${at === 0 ? '' : '\n\n'}${describeSchedule(schedule, paint)}`
  }
}

import { ScheduleKind } from '@lateen/api'
import type { CommandResult } from '../output/command-result.ts'
import { scheduleColumns } from '../output/schedule-columns.ts'
import type { CommandCall } from '../tree/command.ts'
import type { scheduleGetFlags } from '../tree/schedule.ts'
import { findObjects } from './object-client.ts'
import { objectsResult } from './objects-result.ts'
import { scheduleClient } from './schedule-client.ts'

/** `schedule get [NAMES]`: the named schedules, or all that match. A name that does not exist is an error. */
export async function run(call: CommandCall<typeof scheduleGetFlags>): Promise<CommandResult> {
  const { flags, args } = call
  const { signal, clock } = call.surroundings
  const { namespace } = await call.settings()
  await using client = await call.connect()
  return objectsResult(ScheduleKind, {
    objects: await findObjects(scheduleClient({ client, namespace, signal }), args, flags.selector),
    columns: scheduleColumns(clock.now()),
    flags,
  })
}

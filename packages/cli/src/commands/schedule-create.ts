import { type Schedule, ScheduleKind } from '@lateen/api'
import { checkBackupFlags } from '../backup/new-backup.ts'
import type { CommandResult } from '../output/command-result.ts'
import { scheduleColumns } from '../output/schedule-columns.ts'
import { newSchedule } from '../schedule/new-schedule.ts'
import type { CommandCall } from '../tree/command.ts'
import type { scheduleCreateFlags } from '../tree/schedule.ts'
import { checkLocations } from './check-locations.ts'
import { objectsResult } from './objects-result.ts'
import { scheduleClient } from './schedule-client.ts'

type Call = CommandCall<typeof scheduleCreateFlags>

/** `schedule create NAME`: sends the schedule to the cluster, or with `-o` shows it instead. */
export async function run(call: Call): Promise<CommandResult> {
  const { flags } = call
  const { namespace } = await call.settings()
  const schedule = newSchedule({ name: call.args[0] ?? '', namespace, flags })
  checkBackupFlags(flags)
  await checkLocations(call)
  if (flags.output !== undefined) return show(schedule, call)
  await using client = await call.connect()
  const { signal } = call.surroundings
  const { metadata } = await scheduleClient({ client, namespace, signal }).create(schedule)
  return { show: 'lines', lines: [`Schedule "${metadata.name}" created successfully.`] }
}

function show(schedule: Schedule, { flags, surroundings }: Call): CommandResult {
  return objectsResult(ScheduleKind, {
    objects: [schedule],
    columns: scheduleColumns(surroundings.clock.now()),
    flags,
  })
}

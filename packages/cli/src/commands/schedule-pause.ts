import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { schedulePauseFlags } from '../tree/schedule.ts'
import { pauseSchedules } from './pause-schedules.ts'

/** `schedule pause`: no backups are made until they are unpaused. */
export function run(call: CommandCall<typeof schedulePauseFlags>): CommandResult {
  return pauseSchedules(call, true)
}

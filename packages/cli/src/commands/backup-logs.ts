import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { logsFlags } from '../tree/object-flags.ts'
import { backupClient, locationOf } from './backup-client.ts'
import { type LoggedKind, storedLog } from './stored-log.ts'

const backups: LoggedKind = {
  noun: 'backup',
  target: 'BackupLog',
  phasesWithLog: [
    ...['Completed', 'PartiallyFailed', 'Failed'],
    ...['WaitingForPluginOperations', 'WaitingForPluginOperationsPartiallyFailed'],
  ],
  async find(name, place) {
    const backup = await backupClient(place).get(name)
    return { phase: backup.status?.phase, location: locationOf(backup) }
  },
}

/** `backup logs NAME`: the log as it is stored. */
export function run(call: CommandCall<typeof logsFlags>): CommandResult {
  return { show: 'text', chunks: storedLog(call, backups) }
}

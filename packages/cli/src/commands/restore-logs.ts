import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { logsFlags } from '../tree/object-flags.ts'
import { locationOfRestore, restoreClient } from './restore-client.ts'
import { type LoggedKind, storedLog } from './stored-log.ts'

const restores: LoggedKind = {
  noun: 'restore',
  target: 'RestoreLog',
  phasesWithLog: [
    ...['Completed', 'PartiallyFailed', 'Failed', 'Finalizing', 'FinalizingPartiallyFailed'],
    ...['WaitingForPluginOperations', 'WaitingForPluginOperationsPartiallyFailed'],
  ],
  async find(name, place) {
    const restore = await restoreClient(place).get(name)
    return { phase: restore.status?.phase, location: locationOfRestore(restore, place) }
  },
}

/** `restore logs NAME`: the log as it is stored. */
export function run(call: CommandCall<typeof logsFlags>): CommandResult {
  return { show: 'text', chunks: storedLog(call, restores) }
}

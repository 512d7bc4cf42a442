import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { dataMoverBackupFlags } from '../tree/in-cluster.ts'
import { moveVolume } from './move-volume.ts'

/** `data-mover backup`: carries out one DataUpload, in a pod of its own. */
export function run(call: CommandCall<typeof dataMoverBackupFlags>): Promise<CommandResult> {
  const nameFlag = 'data-upload'
  const { [nameFlag]: name, 'volume-mode': volumeMode } = call.flags
  return moveVolume('DataUpload', { ...call, nameFlag, name, volumeMode: volumeMode ?? '' })
}

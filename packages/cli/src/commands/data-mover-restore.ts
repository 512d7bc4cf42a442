import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { dataMoverRestoreFlags } from '../tree/in-cluster.ts'
import { moveVolume } from './move-volume.ts'

/** `data-mover restore`: carries out one DataDownload, in a pod of its own. */
export function run(call: CommandCall<typeof dataMoverRestoreFlags>): Promise<CommandResult> {
  const nameFlag = 'data-download'
  const { [nameFlag]: name, 'volume-mode': volumeMode, 'cache-volume-path': cacheVolume } = call.flags
  return moveVolume('DataDownload', { ...call, nameFlag, name, volumeMode: volumeMode ?? '', cacheVolume })
}

import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { podVolumeRestoreFlags } from '../tree/in-cluster.ts'
import { moveVolume } from './move-volume.ts'

/** `pod-volume restore`: carries out one PodVolumeRestore, in a pod of its own. */
export function run(call: CommandCall<typeof podVolumeRestoreFlags>): Promise<CommandResult> {
  const nameFlag = 'pod-volume-restore'
  const { [nameFlag]: name, 'cache-volume-path': cacheVolume } = call.flags
  return moveVolume('PodVolumeRestore', { ...call, nameFlag, name, cacheVolume })
}

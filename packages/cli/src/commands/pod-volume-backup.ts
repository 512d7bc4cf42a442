import type { CommandResult } from '../output/command-result.ts'
import type { CommandCall } from '../tree/command.ts'
import type { podVolumeBackupFlags } from '../tree/in-cluster.ts'
import { moveVolume } from './move-volume.ts'

/** `pod-volume backup`: carries out one PodVolumeBackup, in a pod of its own. */
export function run(call: CommandCall<typeof podVolumeBackupFlags>): Promise<CommandResult> {
  const nameFlag = 'pod-volume-backup'
  return moveVolume('PodVolumeBackup', { ...call, nameFlag, name: call.flags[nameFlag] })
}

import { posix, win32 } from 'node:path'
import type { NodeOs } from './mover-pod.ts'

/**
 * Where a volume is on its node. `podsFolder` is the kubelet's folder of pods as the installation writes it, with slashes on every system, and `inFolder` the
 * volume's folder below it. A Windows node wants backslashes; without a letter in front, they begin at its system drive.
 */
export function hostPath(podsFolder: string, inFolder: string, os: NodeOs): string {
  return os === 'windows' ? win32.join(podsFolder, inFolder) : posix.join(podsFolder, inFolder)
}

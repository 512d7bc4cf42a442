import { stat } from 'node:fs/promises'
import { runCommand } from '../../binaries/run-command.ts'

/** A block device made of a file. These belong to the machine, in whatever namespaces they were made. */
export interface LoopDevice {
  /** Such as `/dev/loop0`. */
  readonly name: string
  readonly backingFile: string
  /** The identity of the backing file, which holds where its path does not: `major:minor inode`. */
  readonly backing: string
}

/** The loop devices of the machine that have a file. */
export async function listLoopDevices(): Promise<LoopDevice[]> {
  const columns = 'NAME,BACK-FILE,BACK-INO,BACK-MAJ:MIN'
  const answer = await runCommand('losetup', ['--list', '--json', '--output', columns])
  // There is no JSON of no devices.
  if (answer.trim() === '') return []
  const { loopdevices }: { loopdevices: Record<string, string | number>[] } = JSON.parse(answer)
  return loopdevices.map(device => ({
    name: `${device.name}`,
    backingFile: `${device['back-file']}`,
    backing: `${`${device['back-maj:min']}`.trim()} ${device['back-ino']}`,
  }))
}

/** The device of a file, which is made if there is none. */
export async function attachLoopDevice(file: string): Promise<string> {
  const device = (await listLoopDevices()).find(({ backingFile }) => backingFile === file)
  return device?.name ?? (await runCommand('losetup', ['--find', '--show', file])).trim()
}

/** The devices of the files below a folder, and those that stand on such a device, the uppermost first. */
export async function loopDevicesBelow(folder: string): Promise<LoopDevice[]> {
  const devices = await listLoopDevices()
  const found = devices.filter(({ backingFile }) => backingFile.startsWith(`${folder}/`))
  for (const device of found) {
    const identity = await identityOf(device.name)
    found.push(...devices.filter(({ backing }) => backing === identity))
  }
  return found.reverse()
}

/** Takes the files below a folder, and what stands on them, from their devices. */
export async function detachLoopDevicesBelow(folder: string): Promise<void> {
  for (const { name } of await loopDevicesBelow(folder)) await runCommand('losetup', ['--detach', name])
}

async function identityOf(file: string): Promise<string> {
  const { dev, ino } = await stat(file)
  return `${majorOf(dev)}:${minorOf(dev)} ${ino}`
}

function majorOf(device: number): number {
  return (device >> 8) & 0xfff
}

function minorOf(device: number): number {
  return (device & 0xff) | ((device >> 12) & 0xfff00)
}

import path from 'node:path'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { listLoopDevices } from '../../tools/cluster/node/loop-devices.ts'
import type { Driver } from './driver.ts'
import type { VolumeRecord } from './driver-state.ts'
import { listMounts, type Mount } from './mounts.ts'

/** The loop device of a block volume that is staged. */
export async function deviceOf({ state }: Driver, { id }: VolumeRecord): Promise<string | undefined> {
  const file = state.volumes.contentOf(id)
  return (await listLoopDevices()).find(({ backingFile }) => backingFile === file)?.name
}

/**
 * The mounts that show a volume. What is mounted says it, and not a record: that holds when the driver is killed between the two.
 */
export async function mountsOf(driver: Driver, volume: VolumeRecord): Promise<Mount[]> {
  const mounts = await listMounts()
  if (volume.mode === 'mount') {
    // The root of a bind mount is a path in its file system, which may itself be mounted anywhere.
    const tail = path.join('/volumes', volume.id, 'content')
    return mounts.filter(({ root }) => root.endsWith(tail))
  }
  const device = await deviceOf(driver, volume)
  return device === undefined ? [] : mounts.filter(({ root }) => root === `/${path.basename(device)}`)
}

/** Why a volume cannot be deleted: where it is mounted and which device it is. */
export async function usesOf(driver: Driver, volume: VolumeRecord): Promise<string[]> {
  const mounts = await mountsOf(driver, volume)
  const device = volume.mode === 'block' ? await deviceOf(driver, volume) : undefined
  return [
    ...mounts.map(({ point }) => `mounted at ${point}`),
    ...(device === undefined ? [] : [`attached as ${device}`]),
  ]
}

/** Brings to a volume's content what its users have written, as far as that is in the device's cache. */
export async function flushVolume(driver: Driver, volume: VolumeRecord): Promise<void> {
  if (volume.mode !== 'block') return
  const device = await deviceOf(driver, volume)
  if (device !== undefined) await runCommand('blockdev', ['--flushbufs', device])
}

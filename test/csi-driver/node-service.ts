import { mkdir, rmdir, statfs, unlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { HandlersOf } from '../../packages/plugin/src/serve/implement-service.ts'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { attachLoopDevice } from '../../tools/cluster/node/loop-devices.ts'
import { CsiError, required } from './csi-error.ts'
import { type Driver, existingVolume } from './driver.ts'
import type { VolumeRecord } from './driver-state.ts'
import { bindMount, mountAt, unmountAll } from './mounts.ts'
import { deviceOf, mountsOf } from './published-volumes.ts'
import { modeOf } from './volume-request.ts'
import {
  VolumeCapability_AccessMode_Mode as AccessMode,
  type Node,
  type NodePublishVolumeRequest,
  NodeServiceCapability_RPC_Type as Rpc,
  VolumeUsage_Unit as Unit,
} from './wire/csi_pb.ts'

const capabilities = [
  Rpc.STAGE_UNSTAGE_VOLUME,
  Rpc.GET_VOLUME_STATS,
  Rpc.EXPAND_VOLUME,
  Rpc.SINGLE_NODE_MULTI_WRITER,
]

/**
 * Volumes as the kubelet puts them into pods. A folder is bound to the staging path and from there to each pod's; a file becomes a loop device when it is
 * staged, and the device's node is bound to each pod's path.
 */
export function nodeService(driver: Driver): HandlersOf<typeof Node> {
  const { locks, state } = driver
  const alone = <T>(volumeId: string, work: () => Promise<T>) => locks.run(`node ${volumeId}`, work)
  return {
    nodeGetInfo: async () => ({ nodeId: driver.nodeId }),
    nodeGetCapabilities: async () => ({
      capabilities: capabilities.map(type => ({ type: { case: 'rpc', value: { type } } })),
    }),
    nodeStageVolume: async ({ volumeId, stagingTargetPath, volumeCapability }) => {
      const id = required(volumeId, 'the volume ID')
      const point = required(stagingTargetPath, 'the staging target path')
      const mode = modeOf([required(volumeCapability, 'the volume capability')])
      return alone(id, async () => {
        const volume = volumeFor(driver, id, mode)
        if (mode === 'block') await attachLoopDevice(state.volumes.contentOf(id))
        else await bindFolder(driver, volume, { point, from: state.volumes.contentOf(id), readOnly: false })
        return {}
      })
    },
    nodeUnstageVolume: async ({ volumeId, stagingTargetPath }) => {
      const id = required(volumeId, 'the volume ID')
      const point = required(stagingTargetPath, 'the staging target path')
      return alone(id, async () => {
        await unmountAll(point)
        const volume = state.volumes.get(id)
        const device = volume?.mode === 'block' ? await deviceOf(driver, volume) : undefined
        if (device !== undefined) await runCommand('losetup', ['--detach', device])
        return {}
      })
    },
    nodePublishVolume: async request => {
      const id = required(request.volumeId, 'the volume ID')
      required(request.targetPath, 'the target path')
      const mode = modeOf([required(request.volumeCapability, 'the volume capability')])
      required(request.stagingTargetPath, 'the staging target path')
      return alone(id, async () => {
        await publish(driver, volumeFor(driver, id, mode), request)
        return {}
      })
    },
    nodeUnpublishVolume: async ({ volumeId, targetPath }) => {
      const id = required(volumeId, 'the volume ID')
      const point = required(targetPath, 'the target path')
      return alone(id, async () => {
        await unmountAll(point)
        await removePoint(point)
        return {}
      })
    },
    nodeGetVolumeStats: async ({ volumeId, volumePath }) => {
      const id = required(volumeId, 'the volume ID')
      const point = required(volumePath, 'the volume path')
      const volume = existingVolume(driver, id)
      await publishedAt(driver, volume, point)
      return { usage: await usageOf(volume, point) }
    },
    nodeExpandVolume: async ({ volumeId, volumePath }) => {
      const id = required(volumeId, 'the volume ID')
      const point = required(volumePath, 'the volume path')
      return alone(id, async () => {
        const volume = existingVolume(driver, id)
        await publishedAt(driver, volume, point)
        const device = volume.mode === 'block' ? await deviceOf(driver, volume) : undefined
        if (device !== undefined) await runCommand('losetup', ['--set-capacity', device])
        return { capacityBytes: BigInt(volume.capacityBytes) }
      })
    },
  }
}

/** Throws NOT_FOUND where there is no such volume, INVALID_ARGUMENT where it is of the other mode. */
function volumeFor(driver: Driver, id: string, mode: VolumeRecord['mode']): VolumeRecord {
  const volume = existingVolume(driver, id)
  if (volume.mode !== mode) {
    throw new CsiError('INVALID_ARGUMENT', `the volume ${id} is for ${volume.mode} and not for ${mode}`)
  }
  return volume
}

/** Throws FAILED_PRECONDITION for a volume that is not staged, and for a second user of one that may have one only. */
async function publish(driver: Driver, volume: VolumeRecord, request: NodePublishVolumeRequest) {
  const { targetPath: point, stagingTargetPath, readonly: readOnly, volumeCapability } = request
  if (volumeCapability?.accessMode?.mode === AccessMode.SINGLE_NODE_SINGLE_WRITER) {
    const others = (await mountsOf(driver, volume)).filter(
      mount => mount.point !== point && mount.point !== stagingTargetPath,
    )
    if (others[0]) {
      throw new CsiError('FAILED_PRECONDITION', `the volume ${volume.id} has a user at ${others[0].point}`)
    }
  }
  if (volume.mode === 'mount') {
    if (!(await shows(driver, volume, stagingTargetPath))) throw notStaged(volume)
    return bindFolder(driver, volume, { point, from: stagingTargetPath, readOnly })
  }
  const device = await deviceOf(driver, volume)
  if (device === undefined) throw notStaged(volume)
  if (await shows(driver, volume, point)) return
  await mkdir(path.dirname(point), { recursive: true })
  await writeFile(point, '', { flag: 'a' })
  await bindMount(device, point, { readOnly })
}

function notStaged({ id }: VolumeRecord): CsiError {
  return new CsiError('FAILED_PRECONDITION', `the volume ${id} is not staged`)
}

async function bindFolder(
  driver: Driver,
  volume: VolumeRecord,
  { point, from, readOnly }: { point: string; from: string; readOnly: boolean },
): Promise<void> {
  const mounted = await mountAt(point)
  if (mounted?.readOnly === readOnly && (await shows(driver, volume, point))) return
  // What is there is of a driver that was killed between mounting and making it read-only.
  await unmountAll(point)
  await mkdir(point, { recursive: true })
  await bindMount(from, point, { readOnly })
}

async function shows(driver: Driver, volume: VolumeRecord, point: string): Promise<boolean> {
  return (await mountsOf(driver, volume)).some(mount => mount.point === point)
}

/** Throws NOT_FOUND where a volume is not at a path. */
async function publishedAt(driver: Driver, volume: VolumeRecord, point: string): Promise<void> {
  if (await shows(driver, volume, point)) return
  throw new CsiError('NOT_FOUND', `the volume ${volume.id} is not at ${point}`)
}

/** Removes what a volume was mounted on: empty by now, so that nothing of a volume can go with it. */
async function removePoint(point: string): Promise<void> {
  try {
    await rmdir(point)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTDIR') await unlink(point)
    else if (code !== 'ENOENT') throw error
  }
}

/** How full a volume is; a folder is as full as the file system that it is in. */
async function usageOf({ mode, capacityBytes }: VolumeRecord, point: string) {
  if (mode === 'block') return [{ unit: Unit.BYTES, total: BigInt(capacityBytes) }]
  const { blocks, bfree, bavail, bsize, files, ffree } = await statfs(point, { bigint: true })
  return [
    { unit: Unit.BYTES, total: blocks * bsize, used: (blocks - bfree) * bsize, available: bavail * bsize },
    { unit: Unit.INODES, total: files, used: files - ffree, available: ffree },
  ]
}

import type { Server } from '@grpc/grpc-js'
import type { ActionItem } from '../item-actions.ts'
import { parseItem } from '../item-json.ts'
import { PluginError } from '../plugin-error.ts'
import { VolumeSnapshotter as Service } from '../proto/velero/volume-snapshotter_pb.ts'
import type { VolumeSnapshotter } from '../volume-snapshotter.ts'
import { describeItem, itemToWire, progressToWire } from '../wire/action-messages.ts'
import { implementService } from './implement-service.ts'
import type { InitialisedPlugins } from './initialised-plugins.ts'

/** Serves the volume snapshotters of a program. */
export function addVolumeSnapshotterService(
  server: Server,
  snapshotters: InitialisedPlugins<VolumeSnapshotter>,
): void {
  implementService(server, Service, {
    async init({ plugin, config }, signal) {
      await snapshotters.init(plugin, { config, signal })
      return {}
    },
    async createVolumeFromSnapshot({ plugin, snapshotID, volumeType, volumeAZ, iops }, signal) {
      const options = { snapshotId: snapshotID, volumeType, volumeZone: volumeAZ, signal }
      const more = iops === 0n ? {} : { iops: Number(iops) }
      return {
        volumeID: await snapshotters.use(plugin, it => it.createVolumeFromSnapshot({ ...options, ...more })),
      }
    },
    async getVolumeInfo({ plugin, volumeID, volumeAZ }, signal) {
      const options = { volumeId: volumeID, volumeZone: volumeAZ, signal }
      const { volumeType, iops = 0 } = await snapshotters.use(plugin, it => it.getVolumeInfo(options))
      return { volumeType, iops: BigInt(Math.trunc(iops)) }
    },
    async createSnapshot({ plugin, volumeID, volumeAZ, tags }, signal) {
      const options = { volumeId: volumeID, volumeZone: volumeAZ, tags, signal }
      return { snapshotID: await snapshotters.use(plugin, it => it.createSnapshot(options)) }
    },
    async deleteSnapshot({ plugin, snapshotID }, signal) {
      await snapshotters.use(plugin, it => it.deleteSnapshot({ snapshotId: snapshotID, signal }))
      return {}
    },
    async getVolumeID({ plugin, persistentVolume }, signal) {
      const options = { persistentVolume: readVolume(persistentVolume), signal }
      return { volumeID: (await snapshotters.use(plugin, it => it.getVolumeId(options))) ?? '' }
    },
    async setVolumeID({ plugin, persistentVolume, volumeID }, signal) {
      const options = { persistentVolume: readVolume(persistentVolume), volumeId: volumeID, signal }
      const volume = await snapshotters.use(plugin, it => it.setVolumeId(options))
      return { persistentVolume: itemToWire(volume, `setting the volume of ${describeItem(volume)}`) }
    },
    async progress({ plugin, snapshotID }, signal) {
      return snapshotters.use(plugin, async it => {
        if (!it.progress) throw unimplemented(plugin)
        return { progress: progressToWire(await it.progress({ snapshotId: snapshotID, signal })) }
      })
    },
    async cancel({ plugin, snapshotID }, signal) {
      await snapshotters.use(plugin, async it => it.cancel?.({ snapshotId: snapshotID, signal }))
      return {}
    },
  })
}

function unimplemented(plugin: string): PluginError {
  return new PluginError('UNIMPLEMENTED', { reason: `the snapshots of ${plugin} are complete at once` })
}

function readVolume(bytes: Uint8Array): ActionItem {
  try {
    return parseItem(bytes)
  } catch (cause) {
    throw new PluginError('FAILED', { reason: 'the host sent a PersistentVolume that is not JSON', cause })
  }
}

import { serializeItem } from '../item-json.ts'
import { VolumeSnapshotter as Service } from '../proto/velero/volume-snapshotter_pb.ts'
import type { VolumeSnapshotter } from '../volume-snapshotter.ts'
import { answeredItem, describeItem, progressFromWire } from '../wire/action-messages.ts'
import { definedSettings } from '../wire/settings.ts'
import type { PluginCaller } from './plugin-caller.ts'

/**
 * A volume snapshotter in a plugin program. `progress` and `cancel` reject with UNIMPLEMENTED where the program does not have them, as
 * none that is made for Velero has: its snapshots are complete once they are created.
 */
export function volumeSnapshotterClient(caller: PluginCaller): VolumeSnapshotter {
  const { plugin } = caller
  const { method } = Service
  return {
    async init({ config, signal }) {
      const request = { plugin, config: definedSettings(config) }
      await caller.unary(method.init, request, { doing: 'initialising', signal })
    },
    async createVolumeFromSnapshot({ snapshotId, volumeType, volumeZone, iops = 0, signal }) {
      const request = {
        ...{ plugin, snapshotID: snapshotId, volumeType, volumeAZ: volumeZone, iops: BigInt(iops) },
      }
      const doing = `creating a volume from snapshot ${snapshotId}`
      return (await caller.unary(method.createVolumeFromSnapshot, request, { doing, signal, long: true }))
        .volumeID
    },
    async getVolumeInfo({ volumeId, volumeZone, signal }) {
      const request = { plugin, volumeID: volumeId, volumeAZ: volumeZone }
      const doing = `asking about volume ${volumeId}`
      const { volumeType, iops } = await caller.unary(method.getVolumeInfo, request, { doing, signal })
      return { volumeType, iops: iops === 0n ? undefined : Number(iops) }
    },
    async createSnapshot({ volumeId, volumeZone, tags, signal }) {
      const request = { plugin, volumeID: volumeId, volumeAZ: volumeZone, tags: { ...tags } }
      const doing = `taking a snapshot of volume ${volumeId}`
      return (await caller.unary(method.createSnapshot, request, { doing, signal, long: true })).snapshotID
    },
    async deleteSnapshot({ snapshotId, signal }) {
      const doing = `deleting snapshot ${snapshotId}`
      await caller.unary(
        method.deleteSnapshot,
        { plugin, snapshotID: snapshotId },
        { doing, signal, long: true },
      )
    },
    async getVolumeId({ persistentVolume, signal }) {
      const doing = `asking for the volume of ${describeItem(persistentVolume)}`
      const request = { plugin, persistentVolume: serializeItem(persistentVolume) }
      const { volumeID } = await caller.unary(method.getVolumeID, request, { doing, signal })
      return volumeID === '' ? undefined : volumeID
    },
    async setVolumeId({ persistentVolume, volumeId, signal }) {
      const doing = `setting the volume of ${describeItem(persistentVolume)}`
      const request = { plugin, persistentVolume: serializeItem(persistentVolume), volumeID: volumeId }
      const answer = await caller.unary(method.setVolumeID, request, { doing, signal })
      return answeredItem(answer.persistentVolume, `plugin ${plugin}, ${doing}`)
    },
    async progress({ snapshotId, signal }) {
      const doing = `asking for the progress of snapshot ${snapshotId}`
      const answer = await caller.unary(
        method.progress,
        { plugin, snapshotID: snapshotId },
        { doing, signal },
      )
      return progressFromWire(answer.progress, `plugin ${plugin}, ${doing}`)
    },
    async cancel({ snapshotId, signal }) {
      const doing = `cancelling snapshot ${snapshotId}`
      await caller.unary(method.cancel, { plugin, snapshotID: snapshotId }, { doing, signal })
    },
  }
}

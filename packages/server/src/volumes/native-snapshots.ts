import type { Backup, VolumeSnapshotLocation } from '@lateen/api'
import type { Logger } from '@lateen/kube'
import { type ActionItem, fullPluginName, isPluginError, type VolumeSnapshotter } from '@lateen/plugin'
import { messageOf } from '../item/item-error.ts'
import { nativeSnapshotInfo } from './native-snapshot-info.ts'
import type { Snapshotters } from './snapshotters.ts'
import type { NativeSnapshot, NativeSnapshots, SnapshotTaken } from './volume-backup.ts'
import { storedVolumeOf, volumeInfoOf } from './volume-info.ts'
import { zoneOfVolume } from './volume-zone.ts'

export interface NativeSnapshotsOptions {
  /** Those of the backup, in the order in which they are asked for a volume. */
  locations: readonly VolumeSnapshotLocation[]
  snapshotters: Snapshotters
  /** The backup's own log. */
  log: Logger
}

/** Takes snapshots with the snapshotters of a backup's locations. */
export function createNativeSnapshots(options: NativeSnapshotsOptions): NativeSnapshots {
  const taken: NativeSnapshot[] = []
  return {
    taken,
    async take(request, signal) {
      const { volume, backup } = request
      const log = options.log.child({ persistentVolume: volume.metadata.name ?? '' })
      if (backup.spec.snapshotMoveData === true)
        log.warn({}, 'The data of this volume are not moved: only CSI snapshots can be')
      const owner = await findOwner(volume, { ...options, log }, signal)
      if (owner === undefined) return { skipped: 'no applicable volumesnapshotter found' }
      const end = await takeSnapshot(owner, request, signal)
      if ('snapshot' in end && end.snapshot !== undefined) taken.push(end.snapshot)
      return end
    },
    async cancel({ spec, status }, signal) {
      const snapshotId = status.providerSnapshotID ?? ''
      try {
        const snapshotter = await options.snapshotters.named(spec.location, signal)
        await snapshotter.cancel?.({ snapshotId, signal })
      } catch (error) {
        signal.throwIfAborted()
        if (isPluginError(error, 'UNIMPLEMENTED')) return
        const fields = { volumeSnapshotLocation: spec.location, snapshot: snapshotId, error }
        options.log.warn(fields, 'A snapshot could not be cancelled')
      }
    },
  }
}

/** Who can take a snapshot of a volume. */
interface Owner {
  location: VolumeSnapshotLocation
  snapshotter: VolumeSnapshotter
  volumeId: string
}

/** The first location whose snapshotter knows the volume. One that cannot say is an error of the backup, and the next is asked. */
async function findOwner(
  volume: ActionItem,
  { locations, snapshotters, log }: NativeSnapshotsOptions,
  signal: AbortSignal,
): Promise<Owner | undefined> {
  for (const location of locations) {
    const fields = { volumeSnapshotLocation: location.metadata.name ?? '' }
    try {
      const snapshotter = await snapshotters.of(location, signal)
      const volumeId = await snapshotter.getVolumeId({ persistentVolume: volume, signal })
      if (volumeId) return { location, snapshotter, volumeId }
      log.warn(fields, 'The snapshotter of a location does not know the volume')
    } catch (error) {
      signal.throwIfAborted()
      log.error({ ...fields, error }, 'The snapshotter of a location cannot tell whether it knows the volume')
    }
  }
  return undefined
}

async function takeSnapshot(
  { location, snapshotter, volumeId }: Owner,
  { volume, backup }: { volume: ActionItem; backup: Backup },
  signal: AbortSignal,
): Promise<SnapshotTaken> {
  const volumeZone = zoneOfVolume(volume)
  const described = await attempt('error getting volume info', signal, () =>
    snapshotter.getVolumeInfo({ volumeId, volumeZone, signal }),
  )
  if ('error' in described) return described
  const tags = {
    ...backup.metadata.labels,
    'velero.io/backup': backup.metadata.name ?? '',
    'velero.io/pv': volume.metadata.name ?? '',
  }
  const taken = await attempt('error taking snapshot of volume', signal, async () => {
    const id = await snapshotter.createSnapshot({ volumeId, volumeZone, tags, signal })
    if (id === '') throw new Error(`the plugin ${location.spec.provider} names no snapshot`)
    return id
  })
  const { volumeType, iops } = described.value
  const snapshot: NativeSnapshot = {
    spec: {
      backupName: backup.metadata.name ?? '',
      backupUID: backup.metadata.uid ?? '',
      location: location.metadata.name ?? '',
      persistentVolumeName: volume.metadata.name ?? '',
      providerVolumeID: volumeId,
      volumeType,
      ...(volumeZone !== '' && { volumeAZ: volumeZone }),
      ...(iops !== undefined && { volumeIOPS: iops }),
    },
    status: 'error' in taken ? { phase: 'Failed' } : { providerSnapshotID: taken.value, phase: 'Completed' },
  }
  return {
    snapshot,
    provider: fullPluginName(location.spec.provider),
    volumeInfo: nativeSnapshotInfo(snapshot, volumeInfoOf(storedVolumeOf(volume))),
    ...('error' in taken && { error: taken.error }),
  }
}

async function attempt<T>(
  what: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<{ value: T } | { error: Error }> {
  try {
    return { value: await work() }
  } catch (cause) {
    signal.throwIfAborted()
    return { error: new Error(`${what}: ${messageOf(cause)}`, { cause }) }
  }
}

import type { VolumeSnapshotter } from '@lateen/plugin'
import { messageOf } from '../../item/item-error.ts'
import type { Snapshotters } from '../../volumes/snapshotters.ts'
import type { NativeSnapshot } from '../../volumes/volume-backup.ts'
import type { PersistentVolume } from './decide-volume.ts'
import type { RestoreVolumeInfo, SnapshotRestores, SnapshotToRestore } from './volume-restore.ts'

/** Makes volumes from snapshots with the snapshotters of the locations that the backup names. */
export function createSnapshotRestores(snapshotters: Snapshotters): SnapshotRestores {
  return {
    async restore(request, signal) {
      const { snapshot } = request
      requireRestorable(snapshot)
      const snapshotter = await snapshotters.named(snapshot.spec.location, signal)
      const volume = await makeVolume(request, snapshotter, signal)
      return { volume, volumeInfo: infoOf(volume, snapshot) }
    },
  }
}

function requireRestorable({ spec, status }: NativeSnapshot): void {
  if (status.phase !== 'Failed' && status.providerSnapshotID) return
  const id = status.providerSnapshotID ? ` ${status.providerSnapshotID}` : ''
  throw new Error(
    `the snapshot${id} of ${spec.persistentVolumeName} had failed when the backup ended: it holds no data to restore`,
  )
}

async function makeVolume(
  { volume, snapshot }: SnapshotToRestore,
  snapshotter: VolumeSnapshotter,
  signal: AbortSignal,
): Promise<PersistentVolume> {
  const { volumeType, volumeAZ: volumeZone = '', volumeIOPS: iops } = snapshot.spec
  const snapshotId = snapshot.status.providerSnapshotID ?? ''
  const volumeId = await snapshotter.createVolumeFromSnapshot({
    snapshotId,
    volumeType,
    volumeZone,
    iops,
    signal,
  })
  try {
    return await snapshotter.setVolumeId({ persistentVolume: volume, volumeId, signal })
  } catch (cause) {
    signal.throwIfAborted()
    const reason = `the volume ${volumeId} was made from snapshot ${snapshotId}, but nothing refers to it`
    throw new Error(`${messageOf(cause)}; ${reason}`, { cause })
  }
}

function infoOf({ metadata, spec }: PersistentVolume, snapshot: NativeSnapshot): RestoreVolumeInfo {
  const { volumeType, volumeAZ = '', volumeIOPS = 0 } = snapshot.spec
  const claim = spec?.claimRef
  return {
    ...(claim && { pvcName: claim.name ?? '', pvcNamespace: claim.namespace ?? '' }),
    pvName: metadata.name ?? '',
    restoreMethod: 'NativeSnapshot',
    snapshotDataMoved: false,
    nativeSnapshotInfo: {
      snapshotHandle: snapshot.status.providerSnapshotID ?? '',
      volumeType,
      volumeAZ,
      iops: `${volumeIOPS}`,
      // Velero writes this key, and nothing into it.
      Phase: '',
    },
  }
}

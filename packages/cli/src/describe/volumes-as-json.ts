import type { BackupDescription, VolumeInfo } from './backup-description.ts'
import { groupPodVolumes } from './pod-volume-groups.ts'

const seeDetails = 'specify --details for more information'

const errorKeys = {
  getting: ['errorGetBackupVolumeInfo', 'error getting backup volume info'],
  reading: ['errorReadBackupVolumeInfo', 'error reading backup volume info'],
  'concluding native': ['errorConcludeNativeSnapshot', 'error concluding native snapshot info'],
  'concluding CSI': ['errorConcludeCSISnapshot', 'error concluding CSI snapshot info'],
} as const

/** What happened to volumes, with Velero's keys. */
export function volumesAsJson(description: BackupDescription): object {
  const { snapshots, details } = description
  if (snapshots.got === 'error') {
    const [key, text] = errorKeys[snapshots.while]
    return { [key]: `${text}: ${snapshots.reason}` }
  }
  const { native, csi, legacy } = snapshots
  const noCsi = legacy ? '<none included or not detectable>' : '<none included>'
  return {
    nativeSnapshots: byName(native, '<none included>', info => [
      info.pvName ?? '',
      details ? nativeSnapshot(info) : seeDetails,
    ]),
    csiSnapshots: byName(csi, noCsi, info => [
      `${info.pvcNamespace ?? ''}/${info.pvcName ?? ''}`,
      { ...localSnapshot(info, details), ...dataMovement(info, details) },
    ]),
    podVolumeBackups: podVolumes(description),
  }
}

function byName(
  infos: readonly VolumeInfo[],
  empty: string,
  entry: (info: VolumeInfo) => [string, unknown],
): unknown {
  return infos.length === 0 ? empty : Object.fromEntries(infos.map(entry))
}

function nativeSnapshot({ nativeSnapshotInfo: info = {}, result = '' }: VolumeInfo): object {
  return {
    snapshotID: info.snapshotHandle ?? '',
    type: info.volumeType ?? '',
    availabilityZone: info.volumeAZ ?? '',
    IOPS: info.iops ?? '',
    result,
  }
}

function localSnapshot(volume: VolumeInfo, details: boolean): object {
  if (!volume.preserveLocalSnapshot) return {}
  if (!details) return { snapshot: `included, ${seeDetails}` }
  const info = volume.csiSnapshotInfo ?? {}
  return {
    snapshot: {
      ...(volume.snapshotDataMoved ? {} : { operationID: info.operationID ?? '' }),
      snapshotContentName: info.vscName ?? '',
      storageSnapshotID: info.snapshotHandle ?? '',
      'snapshotSize(bytes)': info.size ?? 0,
      csiDriver: info.driver ?? '',
      result: volume.result ?? '',
    },
  }
}

function dataMovement(volume: VolumeInfo, details: boolean): object {
  if (!volume.snapshotDataMoved) return {}
  if (!details) return { dataMovement: `included, ${seeDetails}` }
  const info = volume.snapshotDataMovementInfo ?? {}
  const { size = 0, incrementalSize = 0 } = info
  return {
    dataMovement: {
      operationID: info.operationID ?? '',
      dataMover: info.dataMover || 'velero',
      uploaderType: info.uploaderType ?? '',
      result: volume.result ?? '',
      ...(size > 0 || incrementalSize > 0 ? { size, incrementalSize } : {}),
    },
  }
}

function podVolumes({ podVolumeBackups, details }: BackupDescription): unknown {
  const [first] = podVolumeBackups
  if (first === undefined) return '<none included>'
  const groups = groupPodVolumes('backup', podVolumeBackups).map(({ phase, count, pods }) => [
    phase,
    details ? pods.map(({ pod, volumes }) => ({ [pod]: volumes.join(', ') })) : count,
  ])
  return {
    // Velero spells this key so.
    uploderType: first.spec.uploaderType ?? '',
    podVolumeBackupsDetails: Object.fromEntries(groups),
  }
}

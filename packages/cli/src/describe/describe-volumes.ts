import { cells } from '../output/paint.ts'
import type { BackupDescription, VolumeInfo } from './backup-description.ts'
import { groupPodVolumes, podVolumeLines } from './pod-volume-groups.ts'

const seeDetails = 'specify --details for more information'

/** What happened to volumes: native snapshots, CSI snapshots, and copies of pod volumes. */
export function describeVolumes(description: BackupDescription): string {
  const { snapshots, details } = description
  const title = 'Backup Volumes:\n'
  if (snapshots.got === 'error') {
    const [verb, what] = snapshots.while.startsWith('concluding ')
      ? ['concluding', `${snapshots.while.slice('concluding '.length)} snapshot`]
      : [snapshots.while, 'backup volume']
    return title + cells`\t<error ${verb} ${what} info: ${snapshots.reason}>\n`
  }
  return [
    title + nativeSnapshots(snapshots.native, details),
    csiSnapshots(snapshots.csi, details, snapshots.legacy),
    podVolumes(description),
  ].join('\n')
}

function nativeSnapshots(infos: readonly VolumeInfo[], details: boolean): string {
  if (infos.length === 0) return '\tVelero-Native Snapshots: <none included>\n'
  return `\tVelero-Native Snapshots:\n${infos.map(info => nativeSnapshot(info, details)).join('')}`
}

function nativeSnapshot(
  { pvName = '', nativeSnapshotInfo: info = {}, result = '' }: VolumeInfo,
  details: boolean,
): string {
  if (!details) return cells`\t\t${pvName}: ${seeDetails}\n`
  return [
    cells`\t\t${pvName}:\n`,
    cells`\t\t\tSnapshot ID:\t${info.snapshotHandle ?? ''}\n`,
    cells`\t\t\tType:\t${info.volumeType ?? ''}\n`,
    cells`\t\t\tAvailability Zone:\t${info.volumeAZ ?? ''}\n`,
    cells`\t\t\tIOPS:\t${info.iops ?? ''}\n`,
    cells`\t\t\tResult:\t${result}\n`,
  ].join('')
}

function csiSnapshots(infos: readonly VolumeInfo[], details: boolean, legacy: boolean): string {
  if (infos.length === 0) return `\tCSI Snapshots: <none included${legacy ? ' or not detectable' : ''}>\n`
  const lines = infos.map(
    info =>
      cells`\t\t${info.pvcNamespace ?? ''}/${info.pvcName ?? ''}:\n` +
      localSnapshot(info, details) +
      dataMovement(info, details),
  )
  return `\tCSI Snapshots:\n${lines.join('')}`
}

function localSnapshot(volume: VolumeInfo, details: boolean): string {
  if (!volume.preserveLocalSnapshot) return ''
  if (!details) return `\t\t\tSnapshot: included, ${seeDetails}\n`
  const info = volume.csiSnapshotInfo ?? {}
  return [
    '\t\t\tSnapshot:\n',
    !volume.snapshotDataMoved && info.operationID ? cells`\t\t\t\tOperation ID: ${info.operationID}\n` : '',
    cells`\t\t\t\tSnapshot Content Name: ${info.vscName ?? ''}\n`,
    cells`\t\t\t\tStorage Snapshot ID: ${info.snapshotHandle ?? ''}\n`,
    cells`\t\t\t\tSnapshot Size (bytes): ${info.size ?? 0}\n`,
    cells`\t\t\t\tCSI Driver: ${info.driver ?? ''}\n`,
    cells`\t\t\t\tResult: ${volume.result ?? ''}\n`,
  ].join('')
}

function dataMovement(volume: VolumeInfo, details: boolean): string {
  if (!volume.snapshotDataMoved) return ''
  if (!details) return `\t\t\tData Movement: included, ${seeDetails}\n`
  const info = volume.snapshotDataMovementInfo ?? {}
  const incremental = info.incrementalSize ?? 0
  return [
    '\t\t\tData Movement:\n',
    cells`\t\t\t\tOperation ID: ${info.operationID ?? ''}\n`,
    cells`\t\t\t\tData Mover: ${info.dataMover || 'velero'}\n`,
    cells`\t\t\t\tUploader Type: ${info.uploaderType ?? ''}\n`,
    cells`\t\t\t\tMoved data Size (bytes): ${info.size ?? 0}\n`,
    incremental > 0 ? cells`\t\t\t\tIncremental data Size (bytes): ${incremental}\n` : '',
    cells`\t\t\t\tResult: ${volume.result ?? ''}\n`,
  ].join('')
}

function podVolumes({ podVolumeBackups, details }: BackupDescription): string {
  const [first] = podVolumeBackups
  if (first === undefined) return '\tPod Volume Backups: <none included>\n'
  const uploader = first.spec.uploaderType ?? ''
  const note = details ? '' : ` (${seeDetails})`
  const lines = podVolumeLines(groupPodVolumes('backup', podVolumeBackups), '\t\t', details)
  return cells`\tPod Volume Backups - ${uploader}${note}:\n` + lines
}

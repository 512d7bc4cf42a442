import type { PodVolumeRestore } from '@lateen/api'
import { cells } from '../output/paint.ts'
import type { Fetched } from './backup-description.ts'
import { groupPodVolumes, podVolumeLines } from './pod-volume-groups.ts'
import type { RestoredVolume } from './restore-description.ts'

const seeDetails = 'specify --details for more information'

/** Volumes restored from CSI snapshots; empty for a restore that did not write them down. */
export function describeRestoredVolumes(
  file: Fetched<readonly RestoredVolume[] | null>,
  details: boolean,
): string {
  if (file.got === 'nothing') return ''
  if (file.got === 'error') return cells`\t<error ${file.while} restore volume info: ${file.reason}>\n`
  const volumes = (file.content ?? []).filter(({ restoreMethod }) => restoreMethod === 'CSISnapshot')
  if (volumes.length === 0) return '\nCSI Snapshot Restores: <none included>\n'
  const sorted = volumes.toSorted(
    (a, b) => Number(a.snapshotDataMoved ?? false) - Number(b.snapshotDataMoved ?? false),
  )
  return `\nCSI Snapshot Restores:\n${sorted.map(volume => volumeLines(volume, details)).join('')}`
}

function volumeLines(volume: RestoredVolume, details: boolean): string {
  const title = cells`\t${volume.pvcNamespace ?? ''}/${volume.pvcName ?? ''}:\n`
  const what = volume.snapshotDataMoved ? 'Data Movement' : 'Snapshot'
  if (!details) return `${title}\t\t${what}: ${seeDetails}\n`
  return `${title}\t\t${what}:\n${volume.snapshotDataMoved ? dataMovement(volume) : snapshot(volume)}`
}

function snapshot({ csiSnapshotInfo: info = {} }: RestoredVolume): string {
  return (
    cells`\t\t\tSnapshot Content Name: ${info.vscName ?? ''}\n` +
    cells`\t\t\tStorage Snapshot ID: ${info.snapshotHandle ?? ''}\n` +
    cells`\t\t\tCSI Driver: ${info.driver ?? ''}\n`
  )
}

function dataMovement({ snapshotDataMovementInfo: info = {} }: RestoredVolume): string {
  return (
    cells`\t\t\tOperation ID: ${info.operationID ?? ''}\n` +
    cells`\t\t\tData Mover: ${info.dataMover ?? ''}\n` +
    cells`\t\t\tUploader Type: ${info.uploaderType ?? ''}\n`
  )
}

/** Volumes of pods by phase, as a block; none when there are none. */
export function podVolumeRestoreBlocks(restores: readonly PodVolumeRestore[], details: boolean): string[] {
  const [first] = restores
  if (first === undefined) return []
  const note = details ? '' : ` (${seeDetails})`
  const lines = podVolumeLines(groupPodVolumes('restore', restores), '\t', details)
  return [cells`${first.spec.uploaderType ?? ''} Restores${note}:\n` + lines]
}

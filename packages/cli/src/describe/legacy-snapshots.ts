import type { Backup, DownloadTargetKind } from '@lateen/api'
import type { Fetched, SnapshotReport, VolumeInfo } from './backup-description.ts'

type FetchFile = <T>(kind: DownloadTargetKind) => Promise<Fetched<T>>

interface NativeSnapshot {
  readonly spec?: {
    readonly persistentVolumeName?: string
    readonly volumeType?: string
    readonly volumeAZ?: string
    readonly volumeIOPS?: number | null
  }
  readonly status?: { readonly providerSnapshotID?: string }
}

interface VolumeSnapshot {
  readonly metadata?: { readonly namespace?: string }
  readonly spec?: { readonly source?: { readonly persistentVolumeClaimName?: string } }
  readonly status?: { readonly boundVolumeSnapshotContentName?: string }
}

interface SnapshotContent {
  readonly metadata?: { readonly name?: string }
  readonly spec?: { readonly driver?: string }
  readonly status?: { readonly snapshotHandle?: string; readonly restoreSize?: number }
}

/** What the older files of a backup say about its snapshots; they are read only if the status counts snapshots. */
export async function legacySnapshots({ status }: Backup, fetchFile: FetchFile): Promise<SnapshotReport> {
  const native = await listOf<NativeSnapshot>(
    status?.volumeSnapshotsAttempted,
    () => fetchFile('BackupVolumeSnapshots'),
    'native snapshot info',
  )
  if ('reason' in native) return { got: 'error', while: 'concluding native', reason: native.reason }
  const attempted = status?.csiVolumeSnapshotsAttempted
  const snapshots = await listOf<VolumeSnapshot>(
    attempted,
    () => fetchFile('CSIBackupVolumeSnapshots'),
    'vs list',
  )
  if ('reason' in snapshots) return { got: 'error', while: 'concluding CSI', reason: snapshots.reason }
  const contents = await listOf<SnapshotContent>(
    attempted,
    () => fetchFile('CSIBackupVolumeSnapshotContents'),
    'vsc list',
  )
  if ('reason' in contents) return { got: 'error', while: 'concluding CSI', reason: contents.reason }
  return {
    got: 'content',
    legacy: true,
    native: native.items.map(nativeInfo),
    csi: contents.items.map(content => csiInfo(content, snapshots.items)),
  }
}

async function listOf<T>(
  attempted: number | undefined,
  fetchFile: () => Promise<Fetched<readonly T[] | null>>,
  what: string,
): Promise<{ readonly items: readonly T[] } | { readonly reason: string }> {
  if (!attempted) return { items: [] }
  const fetched = await fetchFile()
  if (fetched.got === 'content') return { items: fetched.content ?? [] }
  if (fetched.got === 'nothing') return { reason: `error to download ${what}: file not found` }
  const verb = fetched.while === 'reading' ? 'decode' : 'download'
  return { reason: `error to ${verb} ${what}: ${fetched.reason}` }
}

function nativeInfo({ spec = {}, status = {} }: NativeSnapshot): VolumeInfo {
  return {
    pvName: spec.persistentVolumeName ?? '',
    nativeSnapshotInfo: {
      snapshotHandle: status.providerSnapshotID ?? '',
      volumeType: spec.volumeType ?? '',
      volumeAZ: spec.volumeAZ ?? '',
      iops: spec.volumeIOPS == null ? '' : String(spec.volumeIOPS),
    },
  }
}

function csiInfo(content: SnapshotContent, snapshots: readonly VolumeSnapshot[]): VolumeInfo {
  const vscName = content.metadata?.name ?? ''
  const snapshot = snapshots.findLast(
    ({ spec, status }) =>
      status?.boundVolumeSnapshotContentName === vscName &&
      spec?.source?.persistentVolumeClaimName !== undefined,
  )
  return {
    pvcName: snapshot?.spec?.source?.persistentVolumeClaimName || '<PVC name not found>',
    pvcNamespace: snapshot?.metadata?.namespace ?? '',
    preserveLocalSnapshot: true,
    csiSnapshotInfo: {
      vscName,
      driver: content.spec?.driver ?? '',
      snapshotHandle: content.status?.snapshotHandle ?? '',
      size: content.status?.restoreSize ?? 0,
    },
  }
}

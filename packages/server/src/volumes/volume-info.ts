import type { ActionItem } from '@lateen/plugin'
import { type SkippedVolume, skippedReasonText } from './skipped-volumes.ts'

/** An entry of `-volumeinfo.json.gz`. Names and capitals are Velero's. */
export interface VolumeInfo {
  pvcName?: string
  pvcNamespace?: string
  pvName?: string
  backupMethod?: 'NativeSnapshot' | 'PodVolumeBackup' | 'CSISnapshot'
  snapshotDataMoved: boolean
  preserveLocalSnapshot: boolean
  skipped: boolean
  skippedReason?: string
  startTimestamp?: string
  completionTimestamp?: string
  result?: 'succeeded' | 'failed'
  csiSnapshotInfo?: object
  snapshotDataMovementInfo?: object
  nativeSnapshotInfo?: object
  pvbInfo?: object
  pvInfo?: { reclaimPolicy: string; labels: Record<string, string> | null }
}

/** A persistent volume that is in the backup. */
export interface StoredVolume {
  name: string
  claim: { namespace: string; name: string } | undefined
  reclaimPolicy: string
  labels: Record<string, string> | null
  /** Absent: it is not one of CSI. */
  csiDriver?: string | undefined
}

interface PersistentVolume extends ActionItem {
  spec?: {
    claimRef?: { namespace?: string; name?: string } | null
    persistentVolumeReclaimPolicy?: string
    csi?: { driver?: string } | null
  }
}

/** What the volume info says of a PersistentVolume. */
export function storedVolumeOf(object: ActionItem): StoredVolume {
  const { spec, metadata } = object as PersistentVolume
  const claim = spec?.claimRef
  return {
    name: metadata.name ?? '',
    claim: claim ? { namespace: claim.namespace ?? '', name: claim.name ?? '' } : undefined,
    reclaimPolicy: spec?.persistentVolumeReclaimPolicy ?? '',
    labels: metadata.labels ?? null,
    ...(spec?.csi?.driver && { csiDriver: spec.csi.driver }),
  }
}

/** What all entries about a volume have in common. */
export function volumeInfoOf({ name, claim, reclaimPolicy, labels }: StoredVolume): VolumeInfo {
  return {
    ...(claim && { pvcName: claim.name, pvcNamespace: claim.namespace }),
    pvName: name,
    snapshotDataMoved: false,
    preserveLocalSnapshot: false,
    skipped: false,
    pvInfo: { reclaimPolicy, labels },
  }
}

/** The entries of volumes that are in the backup without their data. */
export function skippedVolumeInfos(
  skipped: readonly SkippedVolume[],
  stored: ReadonlyMap<string, StoredVolume>,
): VolumeInfo[] {
  return skipped.flatMap(each => {
    const volume = stored.get(each.name)
    if (volume === undefined) return []
    return [{ ...volumeInfoOf(volume), skipped: true, skippedReason: skippedReasonText(each) }]
  })
}

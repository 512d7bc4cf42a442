import type { ActionItem } from '@lateen/plugin'
import type { NativeSnapshot } from '../../volumes/volume-backup.ts'
import type { VolumeInfo } from '../../volumes/volume-info.ts'

/** What becomes of a PersistentVolume of a backup. */
export type VolumeStep =
  /** Made from its snapshot, then created. */
  | { step: 'from snapshot' }
  /** Not created: the claim gets a new volume. `data` says where its contents come from. */
  | { step: 'provision'; data: 'pod volume backup' | 'CSI snapshot' | 'none' }
  /** Created as it was: it stands for storage that is still there. */
  | { step: 'as it was' }

/** A PersistentVolume, as far as it matters here. */
export interface PersistentVolume extends ActionItem {
  spec?: {
    claimRef?: { namespace?: string; name?: string; uid?: string; resourceVersion?: string } | null
    persistentVolumeReclaimPolicy?: string
  }
  status?: { phase?: string }
}

/** What is known of a volume's data. */
export interface VolumeFacts {
  reclaimPolicy: string | undefined
  /** What the backup says of the volume. The other facts count only where it says nothing. */
  info: VolumeInfo | undefined
  snapshot: NativeSnapshot | undefined
  podVolumeBackup: boolean
  csiSnapshot: boolean
}

/** By the volume info of the backup; for volumes without one, by what else the backup has of them. */
export function decideVolume(facts: VolumeFacts): VolumeStep {
  switch (methodOf(facts)) {
    case 'NativeSnapshot':
      return { step: 'from snapshot' }
    case 'PodVolumeBackup':
      return { step: 'provision', data: 'pod volume backup' }
    case 'CSISnapshot':
      return { step: 'provision', data: 'CSI snapshot' }
    case undefined:
      // The storage of a volume with the policy Delete went with its claim; others were kept.
      return facts.reclaimPolicy === 'Delete' ? { step: 'provision', data: 'none' } : { step: 'as it was' }
  }
}

function methodOf({ info, snapshot, podVolumeBackup, csiSnapshot }: VolumeFacts): VolumeInfo['backupMethod'] {
  if (info !== undefined) return info.backupMethod
  if (snapshot !== undefined) return 'NativeSnapshot'
  if (podVolumeBackup) return 'PodVolumeBackup'
  return csiSnapshot ? 'CSISnapshot' : undefined
}

import { annotationNames, isRestoreWaitState } from '@lateen/api'
import type { VolumeActionType } from '../../filters/policies/volume-policy.ts'

/** A volume of a pod, as its spec has it. */
export interface PodVolume {
  name: string
  hostPath?: unknown
  secret?: unknown
  configMap?: unknown
  projected?: unknown
  downwardAPI?: unknown
  emptyDir?: unknown
  persistentVolumeClaim?: { claimName?: string } | null
  [source: string]: unknown
}

/** Whether something is done with a volume, and why. */
export interface VolumeDecision {
  take: boolean
  /** A sentence part for logs and the volume info, which fits behind "because". */
  reason: string
}

/** What the settings of a backup say about all volumes. */
export interface VolumeSettings {
  defaultVolumesToFsBackup: boolean
  /** `spec.snapshotVolumes`; undefined is yes, where a way to do it exists. */
  snapshotVolumes: boolean | undefined
  /** The filters leave all claims out, and volumes behind claims with them. */
  claimsExcluded: boolean
}

/** A volume of a pod, and what is known about it. */
export interface PodVolumeFacts {
  volume: PodVolume
  annotations: Readonly<Record<string, string>> | undefined
  /** The action of the first volume policy that matches it. */
  policy: VolumeActionType | undefined
}

const unsupported: Readonly<Record<string, string>> = {
  hostPath: 'it is a path of the node, which the node agent does not see',
  secret: 'it is a secret, which is backed up as such',
  configMap: 'it is a config map, which is backed up as such',
  projected: 'all of its content comes from the API',
  downwardAPI: 'all of its content comes from the API',
}

/** Whether a volume of a pod is backed up from the file system. Volume policies go before annotations, and those before settings. */
export function decidePodVolume(facts: PodVolumeFacts, settings: VolumeSettings): VolumeDecision {
  const { volume, policy } = facts
  const source = Object.keys(unsupported).find(key => (volume[key] ?? undefined) !== undefined)
  if (source !== undefined) return no(unsupported[source] ?? '')
  if (volume.name.startsWith('default-token')) return no('it holds the token of a service account')
  if (isRestoreWaitState(volume)) return no('it holds nothing but the mark of an earlier restore')
  if (volume.persistentVolumeClaim && settings.claimsExcluded) return no('claims are not part of the backup')
  if (policy !== undefined) {
    const reason = `a volume policy says ${policy}`
    return policy === 'fs-backup' ? yes(reason) : no(reason)
  }
  return decideByAnnotation(facts, settings)
}

/** Whether the annotations of a pod and the default choose the volume; policies and kinds of volumes do not count here. */
export function decideByAnnotation(
  { volume, annotations }: Pick<PodVolumeFacts, 'volume' | 'annotations'>,
  { defaultVolumesToFsBackup }: Pick<VolumeSettings, 'defaultVolumesToFsBackup'>,
): VolumeDecision {
  const key = defaultVolumesToFsBackup ? annotationNames.backupVolumesExcludes : annotationNames.backupVolumes
  const named = (annotations?.[key] ?? '').split(',').includes(volume.name)
  if (defaultVolumesToFsBackup) {
    return named
      ? no(`the pod's annotation ${key} names it`)
      : yes('volumes are backed up from the file system by default')
  }
  return named ? yes(`the pod's annotation ${key} names it`) : no(`no annotation ${key} names it`)
}

/** A persistent volume, and what is known about it. */
export interface SnapshotFacts {
  policy: VolumeActionType | undefined
  /** The pod through which its data are backed up from the file system, if one is. */
  takenThroughPod: string | undefined
}

/** Whether a snapshot of a persistent volume is wanted. A policy that says so goes before `snapshotVolumes: false`. */
export function decideSnapshot(
  { policy, takenThroughPod }: SnapshotFacts,
  { snapshotVolumes }: Pick<VolumeSettings, 'snapshotVolumes'>,
): VolumeDecision {
  if (policy !== undefined) {
    const reason = `a volume policy says ${policy}`
    return policy === 'snapshot' ? yes(reason) : no(reason)
  }
  if (takenThroughPod !== undefined) {
    return no(`its data are backed up from the file system through pod ${takenThroughPod}`)
  }
  return snapshotVolumes === false
    ? no('snapshotVolumes is false')
    : yes('snapshots are taken where possible')
}

function yes(reason: string): VolumeDecision {
  return { take: true, reason }
}

function no(reason: string): VolumeDecision {
  return { take: false, reason }
}

import type { ActionItem } from '@lateen/plugin'
import type { PersistentVolume } from './decide-volume.ts'

/** What controllers write on volumes and claims that they have bound. */
export const bindingAnnotations = [
  'pv.kubernetes.io/bind-completed',
  'pv.kubernetes.io/bound-by-controller',
] as const

/** Takes from a volume or a claim, where it is, what says that the two are bound, so that the cluster binds them again. */
export function resetBinding(object: ActionItem): void {
  const claimRef = (object as PersistentVolume).spec?.claimRef
  if (claimRef) {
    Reflect.deleteProperty(claimRef, 'uid')
    Reflect.deleteProperty(claimRef, 'resourceVersion')
  }
  const { annotations } = object.metadata
  if (annotations === undefined) return
  for (const name of bindingAnnotations) Reflect.deleteProperty(annotations, name)
  if (Object.keys(annotations).length === 0) Reflect.deleteProperty(object.metadata, 'annotations')
}

interface Claim extends ActionItem {
  spec?: { volumeName?: string }
}

/** What became of the volumes that claims name. */
export interface VolumeNames {
  /** Volumes that are provisioned anew. */
  readonly provisioned: ReadonlySet<string>
  /** Volumes that have new names. */
  readonly renamed: ReadonlyMap<string, string>
}

/** The volume that a claim names; empty when it names none. */
export function volumeNameOf(claim: ActionItem): string {
  return (claim as Claim).spec?.volumeName ?? ''
}

/** Points a claim, where it is, to what its volume has become. */
export function rebindClaim(claim: ActionItem, { provisioned, renamed }: VolumeNames): void {
  const { spec } = claim as Claim
  const volumeName = spec?.volumeName ?? ''
  if (spec === undefined || volumeName === '') return
  resetBinding(claim)
  if (provisioned.has(volumeName)) Reflect.deleteProperty(spec, 'volumeName')
  const newName = renamed.get(volumeName)
  if (newName !== undefined) spec.volumeName = newName
}

/** What is known of a volume of the cluster with the name of one to be restored. */
export interface LiveVolume {
  volume: ActionItem | undefined
  /** The claim that it is bound to. */
  claim: ActionItem | undefined
  /** The namespace of that claim. */
  namespace: ActionItem | undefined
}

interface Phased extends ActionItem {
  status?: { phase?: string }
}

/**
 * Whether a volume of that name is absent, there to stay, or leaving, alone or with its claim or namespace. One that is leaving is
 * waited for: its storage would go under the hands of what was restored.
 */
export function lastingOf({ volume, claim, namespace }: LiveVolume): 'absent' | 'staying' | 'leaving' {
  if (volume === undefined) return 'absent'
  if (isLeaving(volume, 'Released')) return 'leaving'
  if (!(volume as PersistentVolume).spec?.claimRef) return 'staying'
  if (claim === undefined || isLeaving(claim)) return 'leaving'
  return namespace === undefined || isLeaving(namespace, 'Terminating') ? 'leaving' : 'staying'
}

function isLeaving(object: ActionItem, phase?: string): boolean {
  const isPhase = phase !== undefined && (object as Phased).status?.phase === phase
  return isPhase || object.metadata.deletionTimestamp !== undefined
}

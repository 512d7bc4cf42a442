import type { VolumeFacts } from './volume-facts.ts'
import type { VolumeAction, VolumeConditions, VolumePolicy } from './volume-policy.ts'

/** What the first policy that matches a volume wants done with it; undefined when none matches. */
export function matchVolumePolicy(
  policies: { volumePolicies: readonly VolumePolicy[] } | undefined,
  volume: VolumeFacts,
): VolumeAction | undefined {
  return policies?.volumePolicies.find(({ conditions }) => checks.every(check => check(conditions, volume)))
    ?.action
}

type Check = (wanted: VolumeConditions, volume: VolumeFacts) => boolean

const checks: readonly Check[] = [
  capacityFits,
  ({ storageClass }, volume) => isOneOf(storageClass, volume.storageClass),
  nfsFits,
  csiFits,
  ({ volumeTypes }, volume) => isOneOf(volumeTypes, volume.volumeType),
  ({ pvcLabels }, volume) => holdsAll(pvcLabels, volume.pvcLabels),
  ({ pvcPhase }, volume) => isOneOf(pvcPhase, volume.pvcPhase),
  ({ pvcVolumeMode }, volume) => !pvcVolumeMode || pvcVolumeMode === volume.pvcVolumeMode,
  accessModesFit,
]

/** A volume whose size nobody knows counts as empty: it is below every upper bound. */
function capacityFits({ capacity }: VolumeConditions, volume: VolumeFacts): boolean {
  const size = volume.capacity ?? 0n
  const { lower, upper } = capacity ?? {}
  return (lower === undefined || lower <= size) && (upper === undefined || size <= upper)
}

function nfsFits({ nfs }: VolumeConditions, volume: VolumeFacts): boolean {
  if (nfs === undefined) return true
  if (volume.nfs === undefined) return false
  return (!nfs.server || nfs.server === volume.nfs.server) && (!nfs.path || nfs.path === volume.nfs.path)
}

function csiFits({ csi }: VolumeConditions, volume: VolumeFacts): boolean {
  if (csi === undefined) return true
  if (volume.csi === undefined) return false
  return (
    !csi.driver ||
    (csi.driver === volume.csi.driver && holdsAll(csi.volumeAttributes, volume.csi.volumeAttributes))
  )
}

function accessModesFit({ pvcAccessModes }: VolumeConditions, volume: VolumeFacts): boolean {
  if (!pvcAccessModes || pvcAccessModes.length === 0) return true
  const modes = volume.pvcAccessModes ?? []
  return (
    modes.length === pvcAccessModes.length &&
    new Set(modes).symmetricDifference(new Set(pvcAccessModes)).size === 0
  )
}

function isOneOf(wanted: readonly string[] | undefined, given: string | undefined): boolean {
  return !wanted || wanted.length === 0 || (given !== undefined && given !== '' && wanted.includes(given))
}

function holdsAll(
  wanted: Readonly<Record<string, string>> | undefined,
  given: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(wanted ?? {}).every(([name, value]) => given?.[name] === value)
}

import type { KubeObject } from '@lateen/kube'
import type { ProvisionedClaim } from './provisioned-claims.ts'

/** A claim, as far as its volume is concerned. */
export interface Claim extends KubeObject {
  spec?: { volumeName?: string; storageClassName?: string }
  status?: { phase?: string }
}

export interface StorageClass extends KubeObject {
  volumeBindingMode?: string
}

export interface Volume extends KubeObject {
  spec?: {
    claimRef?: { namespace?: string; name?: string } | null
    persistentVolumeReclaimPolicy?: string
  }
  status?: { phase?: string }
}

/** What the cluster has now; undefined is what it does not have, or what nobody needed to ask for. */
export interface SeenClaim {
  claim: Claim | undefined
  /** Of a claim that is Pending. */
  storageClass?: StorageClass | undefined
  /** That the claim is bound to. */
  volume?: Volume | undefined
}

export type ClaimStep =
  /** `until` says what is missing. */
  | { type: 'wait'; until: string }
  /** Nobody knows when it would be possible. */
  | { type: 'skip'; reason: string }
  | { type: 'patch'; volume: string; body: object }
  | { type: 'refuse'; reason: string }
  | { type: 'done' }

/** What to do about a claim, so that its new volume is like the old one. */
export function nextClaimStep(wanted: ProvisionedClaim, seen: SeenClaim): ClaimStep {
  const { claim, storageClass, volume } = seen
  if (claim === undefined) return { type: 'wait', until: 'the claim exists' }
  if (wanted.unfilled !== undefined) {
    const { operation, phase } = wanted.unfilled
    return { type: 'skip', reason: `the operation ${operation} that fills it is ${phase}` }
  }
  if (claim.status?.phase === 'Pending' && storageClass?.volumeBindingMode === 'WaitForFirstConsumer') {
    const reason = `it is pending until a pod uses it, as its storage class ${storageClass.metadata.name} says`
    return { type: 'skip', reason }
  }
  if (claim.status?.phase !== 'Bound' || !claim.spec?.volumeName) {
    return { type: 'wait', until: 'the claim is bound' }
  }
  const ref = volume?.spec?.claimRef
  if (volume === undefined || !ref || volume.status?.phase !== 'Bound') {
    return { type: 'wait', until: `the volume ${claim.spec.volumeName} is bound` }
  }
  if (ref.name !== wanted.name || ref.namespace !== wanted.namespace) {
    return {
      type: 'refuse',
      reason: `the volume ${volume.metadata.name} is bound to another claim, ${ref.namespace}/${ref.name}`,
    }
  }
  return patchOf(wanted, volume)
}

/** The labels of the old volume take the place of all labels, as with Velero. */
function patchOf(wanted: ProvisionedClaim, { metadata, spec }: Volume): ClaimStep {
  const live = metadata.labels ?? {}
  const hasLabels = Object.entries(wanted.labels).every(([name, value]) => live[name] === value)
  if (hasLabels && spec?.persistentVolumeReclaimPolicy === wanted.reclaimPolicy) return { type: 'done' }
  const others = Object.keys(live).filter(name => !Object.hasOwn(wanted.labels, name))
  const labels = { ...wanted.labels, ...Object.fromEntries(others.map(name => [name, null])) }
  const body = {
    metadata: { labels },
    spec: { persistentVolumeReclaimPolicy: wanted.reclaimPolicy },
  }
  return { type: 'patch', volume: metadata.name ?? '', body }
}

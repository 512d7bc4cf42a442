import type { ActionItem } from '@lateen/plugin'
import { bindingAnnotations } from './binding.ts'

/** What the cluster has written on them while they came to be bound. */
const keptAnnotations = [
  ...bindingAnnotations,
  'volume.kubernetes.io/storage-provisioner',
  'volume.beta.kubernetes.io/storage-provisioner',
  'volume.kubernetes.io/selected-node',
]

interface ClaimRef {
  namespace?: string
  name?: string
}

interface Bindable extends ActionItem {
  spec?: { claimRef?: ClaimRef; volumeName?: string }
  status?: { phase?: string }
}

/** Whether an object of the cluster is a volume or a claim that is in use. */
export function isBound(object: ActionItem): boolean {
  const isVolume = object.kind === 'PersistentVolume' || object.kind === 'PersistentVolumeClaim'
  return isVolume && (object as Bindable).status?.phase === 'Bound'
}

/**
 * A volume or claim as it is wanted, but bound as the live one is: an update that took the binding away, even for a moment, would make
 * the claim Lost. Undefined when the live volume is bound to another claim, which must not lose it.
 */
export function keepBinding(wanted: ActionItem, live: ActionItem): ActionItem | undefined {
  return live.kind === 'PersistentVolume' ? keepClaim(wanted, live) : keepVolume(wanted, live)
}

function keepClaim(wanted: Bindable, live: Bindable): ActionItem | undefined {
  const [claim, liveClaim] = [wanted.spec?.claimRef, live.spec?.claimRef]
  if (claim?.namespace !== liveClaim?.namespace || claim?.name !== liveClaim?.name) return undefined
  const bound: Bindable = { ...wanted, spec: { ...wanted.spec, claimRef: { ...liveClaim } } }
  return withAnnotations(bound, live)
}

function keepVolume(wanted: Bindable, live: Bindable): ActionItem {
  return wanted.spec?.volumeName === live.spec?.volumeName ? withAnnotations(wanted, live) : wanted
}

function withAnnotations(wanted: ActionItem, live: ActionItem): ActionItem {
  const ofLive = live.metadata.annotations ?? {}
  const kept = keptAnnotations.filter(name => name in ofLive).map(name => [name, ofLive[name] ?? ''])
  if (kept.length === 0) return wanted
  const annotations = { ...wanted.metadata.annotations, ...Object.fromEntries(kept) }
  return { ...wanted, metadata: { ...wanted.metadata, annotations } }
}

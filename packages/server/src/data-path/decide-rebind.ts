import type { Claim, Volume } from './intermediate-claim.ts'

/** What was observed of a volume that a mover has written, and of what is around it. */
export interface RebindFacts {
  /** Whether the pod of the mover is still there. */
  readonly hasPod: boolean
  /** The claim by which the mover had the volume. */
  readonly claim: Claim | undefined
  /** Undefined when it is gone. */
  readonly volume: Volume | undefined
  /** The claim that is to get the volume. */
  readonly target: Claim | undefined
  /** Whether a volume may still be on its way to the claim, which was deleted before it had one. */
  readonly mayGetVolume: boolean
  /** What the volume had before anybody touched it; undefined when nobody did. */
  readonly reclaimPolicy: string | undefined
}

/** The next thing to do about such a volume. */
export type RebindStep =
  /** Give the volume a reclaim policy. */
  | { readonly type: 'setPolicy'; readonly policy: string }
  | { readonly type: 'removePod' }
  | { readonly type: 'removeClaim' }
  /** Have the volume be for the target, and for nobody else. */
  | { readonly type: 'reserve' }
  /** Have the target ask for the volume. */
  | { readonly type: 'point' }
  | { readonly type: 'wait' }
  | { readonly type: 'done' }
  /** It will never be possible. */
  | { readonly type: 'refuse'; readonly reason: string }

/**
 * How a volume with restored data comes to its claim. Whatever is removed, is removed only when the volume was seen to be kept without it;
 * its own policy comes back when it is bound.
 */
export function decideRebind({ hasPod, claim, volume, target, reclaimPolicy }: RebindFacts): RebindStep {
  if (volume === undefined)
    return { type: 'refuse', reason: 'the volume with the restored data does not exist any more' }
  const { name = '' } = volume.metadata
  if (target === undefined || target.metadata.deletionTimestamp !== undefined)
    return { type: 'refuse', reason: 'the claim to be restored was deleted, or replaced' }
  const asksFor = target.spec?.volumeName
  if (asksFor && asksFor !== name)
    return { type: 'refuse', reason: `the claim to be restored has another volume by now, ${asksFor}` }
  if (isBound(volume, target)) return policyOr({ type: 'done' }, volume, reclaimPolicy)
  if (volume.metadata.deletionTimestamp !== undefined)
    return { type: 'refuse', reason: `the volume ${name} with the restored data is being deleted` }
  if (volume.spec?.persistentVolumeReclaimPolicy !== 'Retain') return { type: 'setPolicy', policy: 'Retain' }
  if (hasPod) return { type: 'removePod' }
  if (claim !== undefined) return { type: 'removeClaim' }
  if (!isFor(volume, target)) return { type: 'reserve' }
  return asksFor ? { type: 'wait' } : { type: 'point' }
}

/**
 * How the volume of a download that failed or was cancelled goes, with its storage. One that is for the target already is complete, and is left to
 * it.
 */
export function decideDiscard(facts: RebindFacts): RebindStep {
  const { hasPod, claim, volume, target, reclaimPolicy } = facts
  const gone: RebindStep = claim === undefined ? { type: 'done' } : { type: 'removeClaim' }
  if (hasPod) return { type: 'removePod' }
  if (volume === undefined) return claim === undefined && facts.mayGetVolume ? { type: 'wait' } : gone
  if (target !== undefined && isFor(volume, target)) return policyOr(gone, volume, reclaimPolicy)
  return policyOr(gone, volume, 'Delete')
}

function policyOr(step: RebindStep, { spec }: Volume, policy: string | undefined): RebindStep {
  if (policy === undefined || spec?.persistentVolumeReclaimPolicy === policy) return step
  return { type: 'setPolicy', policy }
}

function isFor({ spec }: Volume, { metadata }: Claim): boolean {
  return metadata.uid !== undefined && spec?.claimRef?.uid === metadata.uid
}

function isBound(volume: Volume, target: Claim): boolean {
  return (
    isFor(volume, target) &&
    target.spec?.volumeName === volume.metadata.name &&
    volume.status?.phase === 'Bound' &&
    target.status?.phase === 'Bound'
  )
}

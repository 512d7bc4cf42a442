import type { KubeObject, ObjectMeta, ResourceType } from '../object.ts'

/** The claim to lead, as the API server keeps it. Only the fields that an election uses. */
export interface LeaseSpec {
  holderIdentity?: string
  leaseDurationSeconds?: number
  acquireTime?: string
  renewTime?: string
  leaseTransitions?: number
}

export interface Lease extends KubeObject {
  metadata: ObjectMeta
  spec?: LeaseSpec
}

export const LeaseKind: ResourceType<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}

/** A lease as seen from here: for how long, by our own measure, has its holder not renewed it? */
export interface Observation {
  fingerprint: string
  unchangedMs: number
}

/**
 * Updates an observation with the lease just read, `passedMs` after the one before. Only changes count, never the
 * times that the holder wrote, so clocks that disagree do no harm.
 */
export function observeLease(last: Observation | undefined, spec: LeaseSpec, passedMs: number): Observation {
  const { holderIdentity, renewTime, leaseTransitions } = spec
  const fingerprint = JSON.stringify([holderIdentity, renewTime, leaseTransitions])
  if (last?.fingerprint !== fingerprint) return { fingerprint, unchangedMs: 0 }
  return { fingerprint, unchangedMs: last.unchangedMs + passedMs }
}

/** What to do about a lease. */
export type LeaseStep = { type: 'renew' } | { type: 'take' } | { type: 'wait'; holder: string }

/**
 * A lease is ours to renew, free to take (released, or not renewed for its whole duration), or another's. One that somebody has taken
 * from its holder by hand counts as the holder's until its duration has passed: the holder does not know yet.
 */
export function decideLease(spec: LeaseSpec, identity: string, { unchangedMs }: Observation): LeaseStep {
  const holder = spec.holderIdentity ?? ''
  if (holder === identity) return { type: 'renew' }
  const { leaseDurationSeconds = 0 } = spec
  const isReleased = holder === '' && leaseDurationSeconds <= RELEASED_SECONDS
  if (isReleased || unchangedMs >= leaseDurationSeconds * 1000) return { type: 'take' }
  return { type: 'wait', holder }
}

/** The spec with which a claim to lead starts; taking over from another counts as a transition. */
export function takenLease(previous: LeaseSpec | undefined, claim: Claim): LeaseSpec {
  const leaseTransitions = previous === undefined ? 0 : (previous.leaseTransitions ?? 0) + 1
  const acquireTime = microTime(claim.now)
  return renewedLease({ ...previous, acquireTime, leaseTransitions }, claim)
}

/** The same claim with a later renew time. */
export function renewedLease(previous: LeaseSpec, { identity, leaseDurationMs, now }: Claim): LeaseSpec {
  return {
    ...previous,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
    renewTime: microTime(now),
  }
}

/** What a lease says that its holder gave back; client-go writes the same. */
const RELEASED_SECONDS = 1

/** Nobody's lease: any candidate may take it at once. */
export function releasedLease(previous: LeaseSpec, now: number): LeaseSpec {
  const { holderIdentity: _, ...rest } = previous
  return { ...rest, leaseDurationSeconds: RELEASED_SECONDS, renewTime: microTime(now) }
}

export interface Claim {
  identity: string
  leaseDurationMs: number
  now: number
}

/** Kubernetes' MicroTime demands exactly six digits after the point. */
function microTime(now: number): string {
  return new Date(now).toISOString().replace('Z', '000Z')
}

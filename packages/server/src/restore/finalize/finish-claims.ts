import { goDurationOf } from '@lateen/api'
import {
  type Clock,
  isNotFound,
  type KubeClient,
  KubeError,
  type KubeObject,
  type Logger,
  type ResourceType,
  unlessNotFound,
} from '@lateen/kube'
import {
  type Claim,
  type ClaimStep,
  nextClaimStep,
  type SeenClaim,
  type StorageClass,
  type Volume,
} from './next-claim-step.ts'
import type { ProvisionedClaim } from './provisioned-claims.ts'

export interface FinishClaimsPorts {
  client: KubeClient
  clock: Clock
  log: Logger
  /** How long volumes have to be bound, all together. */
  timeoutMs: number
  /** Whether the restore still exists. */
  isWanted(): boolean
}

/** A claim whose volume is not like the old one. */
export interface UnfinishedClaim {
  claim: ProvisionedClaim
  error: Error
}

const pollMs = 1_000
const atOnce = 4

const claimKind = kindOf<Claim>('', 'PersistentVolumeClaim', true)
const volumeKind = kindOf<Volume>('', 'PersistentVolume', false)
const classKind: ResourceType<StorageClass> = {
  ...kindOf<StorageClass>('storage.k8s.io', 'StorageClass', false),
  plural: 'storageclasses',
}

function kindOf<T extends KubeObject>(group: string, kind: string, namespaced: boolean): ResourceType<T> {
  return { group, version: 'v1', kind, plural: `${kind.toLowerCase()}s`, namespaced }
}

/**
 * Waits until the volumes of claims are bound, and gives them the labels and the reclaim policy of the old ones. Returns the claims where
 * that was not possible. Throws the signal's reason, and nothing else.
 */
export async function finishClaims(
  claims: readonly ProvisionedClaim[],
  ports: FinishClaimsPorts,
  signal: AbortSignal,
): Promise<UnfinishedClaim[]> {
  const { clock, timeoutMs } = ports
  const giveUp = clock.now() + timeoutMs
  const unfinished: UnfinishedClaim[] = []
  let pending = claims
  for (;;) {
    const waiting: Waiting[] = []
    for (const { claim, step } of await takeSteps(pending, ports, signal)) {
      if (step.type === 'wait') waiting.push({ claim, until: step.until })
      else if (step.type === 'refuse') unfinished.push({ claim, error: refused(claim, step.reason) })
    }
    if (waiting.length === 0 || !ports.isWanted()) return unfinished
    if (clock.now() >= giveUp) return [...unfinished, ...waiting.map(each => tooLate(each, timeoutMs))]
    pending = waiting.map(({ claim }) => claim)
    await clock.sleep(pollMs, signal)
  }
}

interface Waiting {
  claim: ProvisionedClaim
  until: string
}

function tooLate({ claim, until }: Waiting, timeoutMs: number): UnfinishedClaim {
  const reason = `after ${goDurationOf(timeoutMs)} the restore waits no longer until ${until}`
  return { claim, error: refused(claim, reason) }
}

async function takeSteps(
  claims: readonly ProvisionedClaim[],
  ports: FinishClaimsPorts,
  signal: AbortSignal,
): Promise<{ claim: ProvisionedClaim; step: ClaimStep }[]> {
  const taken: { claim: ProvisionedClaim; step: ClaimStep }[] = []
  for (let first = 0; first < claims.length; first += atOnce) {
    const some = claims.slice(first, first + atOnce)
    taken.push(
      ...(await Promise.all(
        some.map(async claim => ({ claim, step: await takeStep(claim, ports, signal) })),
      )),
    )
  }
  return taken
}

async function takeStep(
  claim: ProvisionedClaim,
  { client, log }: FinishClaimsPorts,
  signal: AbortSignal,
): Promise<ClaimStep> {
  const fields = { namespace: claim.namespace, claim: claim.name }
  try {
    const step = nextClaimStep(claim, await see(claim, client, signal))
    if (step.type === 'skip') log.warn({ ...fields, reason: step.reason }, 'a new volume is left as it is')
    if (step.type !== 'patch') return step
    await client.resource(volumeKind).patch(step.volume, { type: 'merge', body: step.body }, { signal })
    log.info({ ...fields, volume: step.volume }, 'a new volume got labels and reclaim policy of the old one')
    return { type: 'done' }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof Error)) throw error
    if (isNotFound(error) || (error instanceof KubeError && error.retryable)) {
      return { type: 'wait', until: `the API server answers otherwise (${error.message})` }
    }
    return { type: 'refuse', reason: error.message }
  }
}

async function see(
  { namespace, name }: ProvisionedClaim,
  client: KubeClient,
  signal: AbortSignal,
): Promise<SeenClaim> {
  const claim = await client.resource(claimKind, namespace).get(name, { signal }).catch(unlessNotFound)
  const { storageClassName, volumeName } = claim?.spec ?? {}
  if (claim?.status?.phase === 'Pending' && storageClassName) {
    const classes = client.resource(classKind)
    const storageClass = await classes.get(storageClassName, { signal }).catch(unlessNotFound)
    return { claim, storageClass }
  }
  if (!volumeName) return { claim }
  const volume = await client.resource(volumeKind).get(volumeName, { signal }).catch(unlessNotFound)
  return { claim, volume }
}

function refused({ namespace, name, oldVolume, reclaimPolicy }: ProvisionedClaim, reason: string): Error {
  return new Error(
    `fail to patch dynamic PV, err: ${reason}, PVC: ${namespace}/${name}, PV: ${oldVolume}; the new volume lacks the labels of the old ` +
      `one and its reclaim policy ${reclaimPolicy}: give it both by hand if they matter`,
  )
}

import {
  type DataDownload,
  DataDownloadKind,
  formatTime,
  isTerminal,
  lateenAnnotation,
  parseTime,
} from '@lateen/api'
import {
  type Clock,
  deleteExactly,
  isConflict,
  type KubeClient,
  type Logger,
  unlessChanged,
  unlessNotFound,
} from '@lateen/kube'
import { DataPathError } from './data-path-error.ts'
import { decideDiscard, decideRebind, type RebindFacts, type RebindStep } from './decide-rebind.ts'
import { removeMover } from './expose-volume.ts'
import { type Claim, ClaimKind, claimOf, isOwnedBy, type Volume, VolumeKind } from './intermediate-claim.ts'
import { type Pod, PodKind } from './mover-state.ts'
import { targetClaimOf } from './target-claim.ts'

export interface RebindPorts {
  client: KubeClient
  clock: Clock
  log: Logger
  signal: AbortSignal
}

/** On DataDownloads: which volume holds the data, and what reclaim policy it had. Written before anything is done about either. */
const restoredVolume = lateenAnnotation('restored-volume')
const reclaimPolicy = lateenAnnotation('reclaim-policy')

/** On DataDownloads: the UID of a claim that was deleted before it had a volume, which may yet get one; and when that was. */
const unboundClaim = lateenAnnotation('unbound-claim')
const unboundSince = lateenAnnotation('unbound-since')

/** How long a volume is looked for that was on its way when its claim was deleted. */
const LATE_VOLUME_MS = 30_000
const LATE_VOLUME_LOOK_MS = 5_000

/** Whether there is more to do, and when to look again. */
export type RebindProgress = 'done' | { readonly afterMs: number }

const SOON_MS = 500

/** More than any volume takes; whatever is left is done at the next call. */
const mostSteps = 12

/**
 * Gives the volume that a mover has filled to the claim that is restored: what the mover had it by goes, and the volume stays. May be
 * repeated by anyone at any time. Throws `REBIND_FAILED` where it will never be possible, and KubeErrors.
 */
export function rebindVolume(download: DataDownload, ports: RebindPorts): Promise<RebindProgress> {
  return proceed(download, ports, async () => {
    const now = await read(download, ports)
    // Whoever ended it meanwhile removes what was made for it.
    const isOver = now === undefined || isTerminal(DataDownloadKind, now.status?.phase)
    const noted = isOver ? undefined : await withVolume(now, ports)
    if (noted === undefined) return undefined
    const seen = await observe(noted, ports)
    return { ...seen, step: decideRebind(seen.facts) }
  })
}

/**
 * Removes what was made for a download that is over: claim and volume, unless the volume has come to its claim. May be repeated. Throws KubeErrors.
 */
export function discardVolume(download: DataDownload, ports: RebindPorts): Promise<RebindProgress> {
  return proceed(download, ports, async () => {
    const seen = await observe((await read(download, ports)) ?? download, ports)
    return { ...seen, step: decideDiscard(seen.facts) }
  })
}

interface Observed {
  pod: Pod | undefined
  facts: RebindFacts
}

async function proceed(
  download: DataDownload,
  ports: RebindPorts,
  look: () => Promise<(Observed & { step: RebindStep }) | undefined>,
): Promise<RebindProgress> {
  for (let taken = 0; taken < mostSteps; taken += 1) {
    const seen = await look()
    if (seen === undefined) break
    const { step, pod, facts } = seen
    if (step.type === 'done') return 'done'
    if (step.type === 'refuse') throw refused(download, step.reason)
    if (step.type === 'wait') return { afterMs: facts.mayGetVolume ? LATE_VOLUME_LOOK_MS : SOON_MS }
    await act(step, { download, pod, ...facts }, ports)
    // What is deleted takes its time to go.
    if (step.type === 'removePod' || step.type === 'removeClaim') break
  }
  return { afterMs: SOON_MS }
}

/** The download as it is now: nothing is decided on what was before. Undefined when it is gone. */
async function read(
  { metadata }: DataDownload,
  { client, signal }: RebindPorts,
): Promise<DataDownload | undefined> {
  const { name = '', namespace, uid } = metadata
  const found = await client.resource(DataDownloadKind, namespace).get(name, { signal }).catch(unlessNotFound)
  return found?.metadata.uid === uid ? found : undefined
}

/**
 * The download, on which it is noted which volume holds the data; undefined when somebody else wrote to it just now. Throws `REBIND_FAILED` when the volume is not known any
 * more.
 */
async function withVolume(now: DataDownload, ports: RebindPorts): Promise<DataDownload | undefined> {
  if (now.metadata.annotations?.[restoredVolume]) return now
  const { client, signal } = ports
  const claim = await claimOf(now, ports)
  const volumeName = claim?.spec?.volumeName
  if (!volumeName) throw refused(now, 'the claim by which the data were restored was deleted')
  const volume = await client.resource(VolumeKind).get(volumeName, { signal }).catch(unlessNotFound)
  if (volume === undefined) throw refused(now, `the volume ${volumeName} with the restored data was deleted`)
  const { name = '', namespace, resourceVersion } = now.metadata
  const annotations = {
    [restoredVolume]: volumeName,
    [reclaimPolicy]: volume.spec?.persistentVolumeReclaimPolicy ?? 'Delete',
  }
  const body = { metadata: { resourceVersion, annotations } }
  try {
    return await client.resource(DataDownloadKind, namespace).patch(name, { type: 'merge', body }, { signal })
  } catch (error) {
    // The policy that was read may be another's doing by now.
    if (isConflict(error)) return undefined
    throw error
  }
}

async function observe(download: DataDownload, ports: RebindPorts): Promise<Observed> {
  const { client, signal } = ports
  const { name = '', namespace, annotations } = download.metadata
  const found = await client.resource(PodKind, namespace).get(name, { signal }).catch(unlessNotFound)
  const pod = found !== undefined && isOwnedBy(found, download) ? found : undefined
  const claim = await claimOf(download, ports)
  const target = await targetClaimOf(download, ports)
  const volume = await volumeOf(download, claim, ports)
  const since = annotations?.[unboundSince]
  const mayGetVolume = since !== undefined && ports.clock.now() < parseTime(since) + LATE_VOLUME_MS
  const facts = { hasPod: pod !== undefined, claim, volume, target, mayGetVolume }
  return { pod, facts: { ...facts, reclaimPolicy: annotations?.[reclaimPolicy] } }
}

async function volumeOf(
  download: DataDownload,
  claim: Claim | undefined,
  ports: RebindPorts,
): Promise<Volume | undefined> {
  const { client, signal } = ports
  const noted = download.metadata.annotations?.[restoredVolume] || claim?.spec?.volumeName
  if (noted) return client.resource(VolumeKind).get(noted, { signal }).catch(unlessNotFound)
  const uid = download.metadata.annotations?.[unboundClaim]
  if (uid === undefined) return undefined
  for await (const volume of client.resource(VolumeKind).list({ signal })) {
    if (volume.spec?.claimRef?.uid === uid) return volume
  }
  return undefined
}

async function act(
  step: RebindStep,
  { download, pod, claim, volume, target }: RebindFacts & Pick<Observed, 'pod'> & { download: DataDownload },
  ports: RebindPorts,
): Promise<void> {
  switch (step.type) {
    case 'removePod':
      if (pod !== undefined) await removeMover(pod, ports)
      return
    case 'removeClaim':
      if (claim !== undefined && claim.metadata.deletionTimestamp === undefined)
        await removeClaim(claim, download, ports)
      return
    case 'setPolicy':
      return patchVolume(volume, { spec: { persistentVolumeReclaimPolicy: step.policy } }, ports)
    case 'reserve':
      return patchVolume(volume, reservationFor(target), ports)
    case 'point':
      return pointTo(volume, target, ports)
    default:
      return
  }
}

/** The binding that the claim of the mover had goes, and its labels come that the target selects by. */
function reservationFor(target: Claim | undefined): object {
  const { namespace, name, uid } = target?.metadata ?? {}
  const kind = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' }
  return {
    metadata: {
      labels: target?.spec?.selector?.matchLabels ?? {},
      annotations: { 'pv.kubernetes.io/bound-by-controller': null },
    },
    spec: { claimRef: { ...kind, namespace, name, uid, resourceVersion: null } },
  }
}

/** Writes to a volume that is still as it was seen. */
async function patchVolume(
  volume: Volume | undefined,
  change: { metadata?: object; spec?: object },
  { client, log, signal }: RebindPorts,
): Promise<void> {
  const { name = '', resourceVersion } = volume?.metadata ?? {}
  const body = { ...change, metadata: { ...change.metadata, resourceVersion } }
  const written = await client
    .resource(VolumeKind)
    .patch(name, { type: 'merge', body }, { signal })
    .catch(unlessChanged)
  if (written !== undefined) {
    log.info({ volume: name, ...change.spec }, 'volume data: a restored volume was changed')
  }
}

async function pointTo(
  volume: Volume | undefined,
  target: Claim | undefined,
  { client, signal }: RebindPorts,
): Promise<void> {
  const { namespace, name = '', uid, resourceVersion } = target?.metadata ?? {}
  const body = { metadata: { uid, resourceVersion }, spec: { volumeName: volume?.metadata.name } }
  await client
    .resource(ClaimKind, namespace)
    .patch(name, { type: 'merge', body }, { signal })
    .catch(unlessChanged)
}

/** What is being provisioned for a claim comes even if that is gone, and is looked for then. */
async function removeClaim(
  { metadata, spec }: Claim,
  download: DataDownload,
  ports: RebindPorts,
): Promise<void> {
  const { client, clock, signal } = ports
  const { namespace, uid } = metadata
  if (!spec?.volumeName) {
    const since = formatTime(clock.now())
    await note(download, { [unboundClaim]: uid ?? '', [unboundSince]: since }, ports)
  }
  await deleteExactly(client.resource(ClaimKind, namespace), { metadata }, signal)
}

async function note(
  { metadata }: DataDownload,
  annotations: Record<string, string>,
  { client, signal }: RebindPorts,
): Promise<void> {
  const { name = '', namespace, uid } = metadata
  const body = { metadata: { uid, annotations } }
  const downloads = client.resource(DataDownloadKind, namespace)
  await downloads.patch(name, { type: 'merge', body }, { signal }).catch(unlessNotFound)
}

function refused({ spec }: DataDownload, reason: string): DataPathError {
  const { namespace, pvc } = spec.targetVolume
  return new DataPathError('REBIND_FAILED', {
    reason: `the claim ${namespace}/${pvc} cannot get its volume: ${reason}`,
    hint: 'Restore it again',
  })
}

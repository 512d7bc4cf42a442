import { labelNames } from '@lateen/api'
import { builtInKind, type KubeClient, type KubeObject, type Logger, noneIfUnseen } from '@lateen/kube'
import { type ClaimToFill, claimInNeed, type RestoredPair } from './decide-restored-pair.ts'
import { deleteContent, deleteSnapshot, setPolicy } from './release-snapshot.ts'
import { restoredByAnnotation } from './restored-pair-mark.ts'
import { VolumeSnapshotContentKind, VolumeSnapshotKind } from './snapshot-kinds.ts'

export interface PairPorts {
  client: KubeClient
  log: Logger
  signal: AbortSignal
}

/** What became of pairs. */
export interface SweptPairs {
  /** Those that a claim is still to be filled from. */
  waiting: { pair: RestoredPair; claim: ClaimToFill }[]
  /** Those that could not be removed. They are there as they were. */
  failed: { pair: RestoredPair; error: Error }[]
}

const claimKind = builtInKind<ClaimToFill>('PersistentVolumeClaim')

/**
 * The pairs that restores made, of one restore or of all; none where the cluster has no snapshots, or does not let us see any. Throws
 * KubeErrors.
 */
export async function listRestoredPairs(
  { client, signal }: PairPorts,
  restoreUid?: string,
): Promise<RestoredPair[]> {
  const { restoreUid: label } = labelNames
  const labelSelector = restoreUid === undefined ? label : `${label}=${restoreUid}`
  const contents = await client
    .resource(VolumeSnapshotContentKind)
    .list({ labelSelector, signal })
    .toArray()
    .catch(noneIfUnseen)
  const snapshots = await client
    .resource(VolumeSnapshotKind)
    .list({ labelSelector, signal })
    .toArray()
    .catch(noneIfUnseen)
  const pairs = new Map<string, RestoredPair>()
  for (const content of contents) {
    const { name = '', namespace = '' } = content.spec.volumeSnapshotRef
    if (isOfPair(content) && name === content.metadata.name) {
      pairs.set(`${namespace}/${name}`, { ...pairOf(content), namespace, content })
    }
  }
  for (const snapshot of snapshots.filter(isOfPair)) {
    const { name = '', namespace = '' } = snapshot.metadata
    pairs.set(`${namespace}/${name}`, {
      ...pairs.get(`${namespace}/${name}`),
      ...{ ...pairOf(snapshot), namespace, snapshot },
    })
  }
  return [...pairs.values()]
}

/** The label alone is not enough to delete something. */
function isOfPair({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[restoredByAnnotation] !== undefined
}

function pairOf({ metadata }: KubeObject): Pick<RestoredPair, 'name' | 'restoreUid' | 'restoredBy'> {
  const { name = '', labels, annotations } = metadata
  return {
    name,
    restoreUid: labels?.[labelNames.restoreUid] ?? '',
    restoredBy: annotations?.[restoredByAnnotation] ?? '',
  }
}

/**
 * Removes the pairs that no claim is to be filled from any more, of restores that create no more claims. The snapshots stay in the
 * storage system. May be repeated. Throws KubeErrors when the claims cannot be read, and the signal's reason.
 */
export async function removeUnneededPairs(
  pairs: readonly RestoredPair[],
  ports: PairPorts,
): Promise<SweptPairs> {
  const { client, log, signal } = ports
  const { waiting, unneeded } = await dividePairs(pairs, { client, signal })
  const swept: SweptPairs = { waiting, failed: [] }
  for (const pair of unneeded) {
    const { namespace, name } = pair
    try {
      await removePair(pair, ports)
      log.info({ namespace, snapshot: name, restore: pair.restoredBy }, 'a restored snapshot is removed')
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof Error)) throw error
      swept.failed.push({ pair, error })
    }
  }
  return swept
}

/** Those that a claim is still to be filled from, and the others. Throws KubeErrors. */
export async function dividePairs(
  pairs: readonly RestoredPair[],
  { client, signal }: Pick<PairPorts, 'client' | 'signal'>,
): Promise<{ waiting: SweptPairs['waiting']; unneeded: RestoredPair[] }> {
  const waiting: SweptPairs['waiting'] = []
  const unneeded: RestoredPair[] = []
  for (const [namespace, ofNamespace] of Map.groupBy(pairs, each => each.namespace)) {
    const claims = await client.resource(claimKind, namespace).list({ signal }).toArray()
    for (const pair of ofNamespace) {
      const claim = claimInNeed(pair, claims)
      if (claim === undefined) unneeded.push(pair)
      else waiting.push({ pair, claim })
    }
  }
  return { waiting, unneeded }
}

/** The snapshot first: a content that goes before it would be missed by whoever looks at the snapshot. */
async function removePair({ snapshot, content }: RestoredPair, ports: PairPorts): Promise<void> {
  if (content !== undefined) await setPolicy(content, 'Retain', ports)
  if (snapshot !== undefined) await deleteSnapshot(snapshot, ports)
  if (content !== undefined) await deleteContent(content, ports)
}

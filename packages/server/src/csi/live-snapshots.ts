import { type Backup, backupSelector, goDurationOf } from '@lateen/api'
import { type Clock, deleteExactly, type KubeClient, unlessChanged, unlessNotFound } from '@lateen/kube'
import { snapshotsOfBackup } from './backup-snapshots.ts'
import { CsiError } from './csi-error.ts'
import { deletionContentName } from './deletion-content.ts'
import { releaseSnapshot, setPolicy } from './release-snapshot.ts'
import {
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from './snapshot-kinds.ts'
import { isContentOfBackup, type StoredSnapshot, snapshotKey, storedSnapshotOf } from './stored-snapshot.ts'

export interface LivePorts {
  client: KubeClient
  clock: Clock
  signal: AbortSignal
}

/** A content that was left in the cluster, with its VolumeSnapshot where that was left, too. */
export interface KeptContent {
  content: VolumeSnapshotContent
  snapshot: VolumeSnapshot | undefined
}

/**
 * The contents in the cluster that older versions of Velero kept for as long as a backup. They are told by their labels and by a snapshot that is
 * known to be the backup's, for people copy labels. Throws KubeErrors.
 */
export async function keptContents(
  backup: Backup,
  known: readonly StoredSnapshot[],
  { client, signal }: LivePorts,
): Promise<KeptContent[]> {
  const { name = '' } = backup.metadata
  const keys = new Set(known.map(snapshotKey))
  const labelSelector = backupSelector(name)
  const kept: VolumeSnapshotContent[] = []
  for await (const content of client.resource(VolumeSnapshotContentKind).list({ labelSelector, signal })) {
    const stored = storedSnapshotOf(content)
    if (stored === undefined || !keys.has(snapshotKey(stored)) || !isContentOfBackup(content, name)) continue
    if (content.metadata.name !== deletionContentName(backup, stored)) kept.push(content)
  }
  if (kept.length === 0) return []
  const snapshots = await client.resource(VolumeSnapshotKind).list({ labelSelector, signal }).toArray()
  return kept.map(content => ({ content, snapshot: snapshots.find(each => isBoundTo(each, content)) }))
}

function isBoundTo({ metadata }: VolumeSnapshot, { spec }: VolumeSnapshotContent): boolean {
  const { uid, namespace, name } = spec.volumeSnapshotRef
  return metadata.namespace === namespace && metadata.name === name && (!uid || metadata.uid === uid)
}

/** How the snapshot controller tells the driver's snapshotter that a content may go. It does so only while there is a VolumeSnapshot. */
const beingDeleted = 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted'

/**
 * Removes a content, and its VolumeSnapshot, and waits until it is gone; the snapshot stays in the storage, for whoever deletes it by its
 * handle. Throws CsiError POLICY_NOT_CONFIRMED and SNAPSHOT_NOT_DELETED, KubeErrors, and the signal's reason.
 */
export async function removeKeptContent(
  { content, snapshot }: KeptContent,
  timeoutMs: number,
  ports: LivePorts,
): Promise<void> {
  const { client, signal } = ports
  const { name = '', uid } = content.metadata
  const contents = client.resource(VolumeSnapshotContentKind)
  if (snapshot !== undefined) await releaseSnapshot(snapshot, ports)
  else {
    await setPolicy(content, 'Retain', ports)
    if (content.spec.volumeSnapshotRef.uid) {
      const body = { metadata: { uid, annotations: { [beingDeleted]: 'yes' } } }
      await contents.patch(name, { type: 'merge', body }, { signal }).catch(unlessChanged)
    }
    await deleteExactly(contents, content, signal)
  }
  const isGone = async () =>
    (await contents.get(name, { signal }).catch(unlessNotFound))?.metadata.uid !== uid
  await untilGone(isGone, { what: `the VolumeSnapshotContent ${name}`, timeoutMs }, ports)
}

/**
 * Waits until the snapshots that a backup took are gone from the cluster, once they were told to. They go with what is in the storage.
 * Throws CsiError SNAPSHOT_NOT_DELETED, KubeErrors, and the signal's reason.
 */
export async function snapshotsGone(
  { metadata }: Backup,
  timeoutMs: number,
  ports: LivePorts,
): Promise<void> {
  const isGone = async () => (await snapshotsOfBackup(metadata.uid ?? '', ports)).length === 0
  await untilGone(isGone, { what: 'a VolumeSnapshot', timeoutMs }, ports)
}

const PAUSE_MS = 500

async function untilGone(
  isGone: () => Promise<boolean>,
  { what, timeoutMs }: { what: string; timeoutMs: number },
  { clock, signal }: LivePorts,
): Promise<void> {
  const deadline = clock.now() + timeoutMs
  while (!(await isGone())) {
    if (clock.now() >= deadline) {
      throw new CsiError('SNAPSHOT_NOT_DELETED', {
        reason: `${what} of the backup is still there ${goDurationOf(timeoutMs)} after it was deleted`,
        hint: "See whether the snapshot controller and the driver's csi-snapshotter run in this cluster, and what they log",
      })
    }
    await clock.sleep(PAUSE_MS, signal)
  }
}

import { parseTime } from '@lateen/api'
import {
  type Clock,
  deleteExactly,
  type KubeClient,
  type KubeObject,
  type ResourceType,
  unlessNotFound,
} from '@lateen/kube'
import { CsiError } from './csi-error.ts'
import {
  type DeletionPolicy,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from './snapshot-kinds.ts'

export interface SnapshotPorts {
  client: KubeClient
  signal: AbortSignal
}

export interface PatientPorts extends SnapshotPorts {
  clock: Clock
}

/**
 * Removes the objects of a snapshot from the cluster, and keeps the snapshot in the storage: the content is told to, and read again,
 * before anything is deleted. May be repeated. Throws CsiError POLICY_NOT_CONFIRMED, and KubeErrors; nothing is deleted then that is still
 * needed.
 */
export async function releaseSnapshot(snapshot: VolumeSnapshot, ports: SnapshotPorts): Promise<void> {
  const content = await contentOf(snapshot, ports)
  if (content !== undefined) {
    await setPolicy(content, 'Retain', ports)
    await deleteContent(content, ports)
  }
  await deleteSnapshot(snapshot, ports)
}

/**
 * Removes the objects of a snapshot from the cluster, and the snapshot from the storage, which the driver does once it gets to it. Waits some
 * seconds for the content of one that was only just created. May be repeated. Throws CsiError POLICY_NOT_CONFIRMED, KubeErrors, and the signal's reason.
 */
export async function discardSnapshot(snapshot: VolumeSnapshot, ports: PatientPorts): Promise<void> {
  const content = await awaitedContent(snapshot, ports)
  if (content !== undefined) await setPolicy(content, 'Delete', ports)
  await deleteSnapshot(snapshot, ports)
}

/** The content of a snapshot, also when the snapshot does not say yet which one that is. */
export async function contentOf(
  { metadata, status }: VolumeSnapshot,
  { client, signal }: SnapshotPorts,
): Promise<VolumeSnapshotContent | undefined> {
  const { uid, namespace, name: snapshotName } = metadata
  // How the snapshot controller names those that it makes.
  const name = status?.boundVolumeSnapshotContentName || `snapcontent-${uid}`
  const content = await client.resource(VolumeSnapshotContentKind).get(name, { signal }).catch(unlessNotFound)
  const { volumeSnapshotRef: ref } = content?.spec ?? {}
  const isIts = ref?.name === snapshotName && ref?.namespace === namespace && (!ref?.uid || ref.uid === uid)
  return isIts ? content : undefined
}

/** How long the snapshot controller is given to make the content of a snapshot that has none. */
const CONTENT_PATIENCE_MS = 10_000

const PAUSE_MS = 250

/**
 * Whether a snapshot is so young that its content may still be on its way. One that is made after the snapshot was deleted has the policy of
 * its class, and where that retains, nobody knows of what it keeps in the storage.
 */
export function mayGetContent({ metadata }: VolumeSnapshot, now: number): boolean {
  const { creationTimestamp } = metadata
  // It is of the API server's clock, which may be ahead of ours.
  return !!creationTimestamp && Math.abs(now - parseTime(creationTimestamp)) <= CONTENT_PATIENCE_MS
}

async function awaitedContent(
  snapshot: VolumeSnapshot,
  ports: PatientPorts,
): Promise<VolumeSnapshotContent | undefined> {
  const { clock, signal } = ports
  for (;;) {
    const content = await contentOf(snapshot, ports)
    if (content !== undefined || !mayGetContent(snapshot, clock.now())) return content
    await clock.sleep(PAUSE_MS, signal)
  }
}

/** Sets what becomes of the snapshot in the storage, and looks whether it is so. Throws CsiError POLICY_NOT_CONFIRMED, and KubeErrors. */
export async function setPolicy(
  content: VolumeSnapshotContent,
  deletionPolicy: DeletionPolicy,
  ports: SnapshotPorts,
): Promise<void> {
  await setPolicyOf(content, { kind: VolumeSnapshotContentKind, deletionPolicy }, ports)
}

/** A content of any kind. */
export interface AnyContent extends KubeObject {
  spec: { deletionPolicy: DeletionPolicy }
}

/** The same for a content of any kind. Returns it as it is then; undefined when it is gone, or another has its name. */
export async function setPolicyOf<T extends AnyContent>(
  { metadata, spec }: T,
  { kind, deletionPolicy }: { kind: ResourceType<T>; deletionPolicy: DeletionPolicy },
  { client, signal }: SnapshotPorts,
): Promise<T | undefined> {
  const contents = client.resource(kind)
  const { name = '', uid } = metadata
  if (spec.deletionPolicy !== deletionPolicy) {
    const body = { metadata: { uid }, spec: { deletionPolicy } }
    await contents.patch(name, { type: 'merge', body }, { signal }).catch(unlessNotFound)
  }
  const now = await contents.get(name, { signal }).catch(unlessNotFound)
  if (now === undefined || now.metadata.uid !== uid) return undefined
  if (now.spec.deletionPolicy === deletionPolicy) return now
  throw new CsiError('POLICY_NOT_CONFIRMED', {
    reason: `the ${kind.kind} ${name} still has the deletion policy ${now.spec.deletionPolicy} after it was set to ${deletionPolicy}`,
    hint: 'See what changes or refuses it, such as an admission policy',
  })
}

/** Deletes this very content, if it is there. */
export function deleteContent(
  content: VolumeSnapshotContent,
  { client, signal }: SnapshotPorts,
): Promise<void> {
  return deleteExactly(client.resource(VolumeSnapshotContentKind), content, signal)
}

/** Deletes this very snapshot, if it is there. */
export function deleteSnapshot(snapshot: VolumeSnapshot, { client, signal }: SnapshotPorts): Promise<void> {
  return deleteExactly(client.resource(VolumeSnapshotKind, snapshot.metadata.namespace), snapshot, signal)
}

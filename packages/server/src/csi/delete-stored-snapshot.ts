import { type Backup, goDurationOf } from '@lateen/api'
import {
  builtInKind,
  type Clock,
  deleteExactly,
  isAlreadyExists,
  isForbidden,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type ResourceClient,
  unlessChanged,
  unlessNotFound,
} from '@lateen/kube'
import { CsiError } from './csi-error.ts'
import {
  type DeletionContent,
  deletionContent,
  groupDeletionContent,
  nextDeletionMove,
} from './deletion-content.ts'
import { VolumeGroupSnapshotContentKind } from './group-snapshot-kinds.ts'
import { VolumeSnapshotContentKind } from './snapshot-kinds.ts'
import type { StoredGroup, StoredSnapshot } from './stored-snapshot.ts'

export interface SnapshotDeletionPorts {
  client: KubeClient
  clock: Clock
  signal: AbortSignal
}

export interface SnapshotDeletion {
  /** The one that is deleted. */
  backup: Backup
  /** How long the snapshot may take to become ready, and then how long it may take to go. */
  timeoutMs: number
}

/**
 * Deletes a snapshot from the storage, by a content that is made for this and whose deletion the driver carries out. It is gone when this returns,
 * also when it was before; the content is gone in any case, unless the process dies: then the next one finds it. May be repeated. `className`
 * is a class of the driver that exists, for the Secrets that the driver needs to look at the snapshot; it can be deleted without.
 *
 * Throws CsiError SNAPSHOT_NOT_DELETED and SECRET_MISSING, KubeErrors, and the signal's reason.
 */
export async function deleteStoredSnapshot(
  snapshot: StoredSnapshot,
  { className, ...deletion }: SnapshotDeletion & { className?: string | undefined },
  ports: SnapshotDeletionPorts,
): Promise<void> {
  const { client, signal } = ports
  await checkSecret(snapshot, client, signal)
  await deleteBy(
    {
      content: deletionContent(deletion.backup, snapshot, className),
      contents: client.resource<DeletionContent>(VolumeSnapshotContentKind),
      noted: { snapshotHandle: snapshot.handle, volumeGroupSnapshotHandle: null },
      what: `the snapshot ${snapshot.handle}`,
      timeoutMs: deletion.timeoutMs,
    },
    ports,
  )
}

/** As `deleteStoredSnapshot`, for a group of snapshots and all its members. */
export async function deleteStoredGroup(
  group: StoredGroup,
  { backup, timeoutMs }: SnapshotDeletion,
  ports: SnapshotDeletionPorts,
): Promise<void> {
  await deleteBy(
    {
      content: groupDeletionContent(backup, group),
      contents: ports.client.resource<DeletionContent>(VolumeGroupSnapshotContentKind),
      noted: { volumeGroupSnapshotHandle: group.handle },
      what: `the group ${group.handle} of snapshots`,
      timeoutMs,
    },
    ports,
  )
}

const SecretKind = builtInKind<KubeObject>('Secret')

/** Without it the driver would fail for as long as one waits, and say so in its log only. */
async function checkSecret({ handle, secret }: StoredSnapshot, client: KubeClient, signal: AbortSignal) {
  if (secret === undefined) return
  const { namespace, name } = secret
  try {
    await client.resource(SecretKind, namespace).get(name, { signal })
  } catch (error) {
    // Whoever must not read it learns from the driver.
    if (isForbidden(error)) return
    if (!isNotFound(error)) throw error
    throw new CsiError('SECRET_MISSING', {
      reason: `the snapshot ${handle} cannot be deleted: the Secret ${namespace}/${name}, which its driver needs for it, does not exist`,
      hint: 'Create it, or restore it from the backup',
    })
  }
}

interface Deletion {
  /** As it is made. */
  content: DeletionContent
  contents: ResourceClient<DeletionContent>
  /** What the snapshotter has to have noted before it deletes. */
  noted: object
  /** In words. */
  what: string
  timeoutMs: number
}

const STEPS_MS = { first: 100, longest: 2_000, growth: 1.5 }

async function deleteBy(deletion: Deletion, { clock, signal }: SnapshotDeletionPorts): Promise<void> {
  const { contents, content: wanted, timeoutMs } = deletion
  const { name = '' } = wanted.metadata
  let [asked, deadline, pause] = [false, clock.now() + timeoutMs, STEPS_MS.first]
  for (;;) {
    const content = await contents.get(name, { signal }).catch(unlessNotFound)
    switch (nextDeletionMove({ content, asked, isLate: clock.now() >= deadline })) {
      case 'gone':
        return
      case 'create':
        await contents.create(wanted, { signal }).catch(unlessThere)
        break
      case 'note-handle':
        await noteHandle(deletion, signal)
        break
      case 'delete':
        if (content !== undefined) await deleteExactly(contents, content, signal)
        ;[asked, deadline, pause] = [true, clock.now() + timeoutMs, STEPS_MS.first]
        break
      case 'give-up':
        await takeBack(deletion, signal)
        throw notDeleted(deletion, { content, asked })
      case 'wait':
    }
    await clock.sleep(pause, signal)
    pause = Math.min(pause * STEPS_MS.growth, STEPS_MS.longest)
  }
}

/** As one whose snapshot is ready: then the snapshotter does not look at it any more. */
async function noteHandle({ content, contents, noted }: Deletion, signal: AbortSignal): Promise<void> {
  const body = { status: { ...noted, readyToUse: true } }
  const { name = '' } = content.metadata
  await contents.patch(name, { type: 'merge', body }, { subresource: 'status', signal }).catch(unlessNotFound)
}

/** One that stayed would delete the snapshot some day, when nobody thinks of it. */
async function takeBack({ content: { metadata }, contents }: Deletion, signal: AbortSignal): Promise<void> {
  const { name = '' } = metadata
  const body = { spec: { deletionPolicy: 'Retain' } }
  const kept = await contents.patch(name, { type: 'merge', body }, { signal }).catch(unlessNotFound)
  // Somebody changes or refuses it: better one that deletes what is to be deleted than one that nobody can get rid of.
  if (kept?.spec.deletionPolicy !== 'Retain') return
  await deleteExactly(contents, kept, signal)
  const freed = { metadata: { uid: kept.metadata.uid, finalizers: null } }
  await contents.patch(name, { type: 'merge', body: freed }, { signal }).catch(unlessChanged)
}

function unlessThere(error: unknown): void {
  if (!isAlreadyExists(error)) throw error
}

function notDeleted(
  { content: { spec }, what, timeoutMs }: Deletion,
  { content, asked }: { content: DeletionContent | undefined; asked: boolean },
): CsiError {
  const fault = content?.status?.error?.message
  const within = `within ${goDurationOf(timeoutMs)}`
  const late = asked
    ? `the driver ${spec.driver} did not delete ${what} ${within}`
    : `the driver ${spec.driver} did not look at ${what}, which is to be deleted, ${within}`
  return new CsiError('SNAPSHOT_NOT_DELETED', {
    reason: fault ? `${late}; it says: ${fault}` : late,
    hint: 'See whether the driver and its csi-snapshotter run in this cluster, and what they log',
  })
}

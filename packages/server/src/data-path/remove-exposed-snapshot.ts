import type { DataUpload } from '@lateen/api'
import { type Clock, deleteExactly, type KubeClient, unlessNotFound } from '@lateen/kube'
import { VolumeGroupSnapshotKind } from '../csi/group-snapshot-kinds.ts'
import { isRefusal } from '../csi/is-refusal.ts'
import {
  contentOf,
  deleteContent,
  deleteSnapshot,
  discardSnapshot,
  mayGetContent,
  releaseSnapshot,
  setPolicy,
} from '../csi/release-snapshot.ts'
import {
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
} from '../csi/snapshot-kinds.ts'
import { type Claim, ClaimKind, claimOf, VolumeKind } from './intermediate-claim.ts'
import { removeCopies } from './needed-copies.ts'
import {
  isOfGroup,
  originOf,
  originUidAnnotation,
  ownContent,
  ownSnapshot,
  volumeAnnotation,
} from './snapshot-to-read.ts'

/** The owner of snapshots that were taken together: the server removes them with it. */
const { kind: groupKind } = VolumeGroupSnapshotKind

export interface RemovePorts {
  client: KubeClient
  clock: Clock
  signal: AbortSignal
}

/**
 * Removes what was made to read the snapshot of a DataUpload that is over, and the snapshot from the storage: the claim and its volume, then what
 * is left where the snapshot was taken, then the snapshot. The mover's pod has to be gone. To be repeated until nothing is left. Throws CsiErrors and KubeErrors.
 */
export async function removeExposedSnapshot(upload: DataUpload, ports: RemovePorts): Promise<boolean> {
  const content = await unlessTaken(ownContent(upload, ports))
  if (!(await volumeIsGone(upload, content, ports))) return false
  if (!(await originIsGone(upload, content, ports))) return false
  if (!(await snapshotIsGone(upload, content, ports))) return false
  await removeCopies(upload, ports)
  return true
}

/** What has the name and is another's is none of ours. */
async function unlessTaken<T>(found: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'NAME_TAKEN') return undefined
    throw error
  }
}

async function volumeIsGone(
  upload: DataUpload,
  content: VolumeSnapshotContent | undefined,
  ports: RemovePorts,
): Promise<boolean> {
  const claim = await claimOf(upload, ports)
  if (claim !== undefined) {
    await removeClaim(claim, content, ports)
    return false
  }
  const volume = content?.metadata.annotations?.[volumeAnnotation]
  if (volume === undefined) return true
  const { client, signal } = ports
  const found = await client.resource(VolumeKind).get(volume, { signal }).catch(unlessNotFound)
  return found === undefined
}

/** Notes the volume of a claim where it is found when the claim is gone, and has it go with that. */
async function removeClaim(
  { metadata, spec }: Claim,
  content: VolumeSnapshotContent | undefined,
  { client, signal }: RemovePorts,
): Promise<void> {
  const { volumeName } = spec ?? {}
  const { namespace, uid, deletionTimestamp } = metadata
  if (volumeName) {
    const volumes = client.resource(VolumeKind)
    const volume = await volumes.get(volumeName, { signal }).catch(unlessNotFound)
    if (volume?.spec?.claimRef?.uid === uid && volume?.spec?.persistentVolumeReclaimPolicy !== 'Delete') {
      const body = { spec: { persistentVolumeReclaimPolicy: 'Delete' } }
      await volumes.patch(volumeName, { type: 'merge', body }, { signal }).catch(unlessNotFound)
    }
    if (content !== undefined && content.metadata.annotations?.[volumeAnnotation] !== volumeName) {
      const body = { metadata: { annotations: { [volumeAnnotation]: volumeName } } }
      const contents = client.resource(VolumeSnapshotContentKind)
      await contents
        .patch(content.metadata.name ?? '', { type: 'merge', body }, { signal })
        .catch(unlessNotFound)
    }
  }
  if (deletionTimestamp !== undefined) return
  await deleteExactly(client.resource(ClaimKind, namespace), { metadata }, signal)
}

/** The content goes with its snapshot, and the snapshot in the storage with the content. */
async function snapshotIsGone(
  upload: DataUpload,
  content: VolumeSnapshotContent | undefined,
  ports: RemovePorts,
): Promise<boolean> {
  if (content !== undefined) await setPolicy(content, isOfGroup(content) ? 'Retain' : 'Delete', ports)
  const snapshot = await unlessTaken(ownSnapshot(upload, ports))
  if (snapshot !== undefined) {
    if (snapshot.metadata.deletionTimestamp === undefined) await deleteSnapshot(snapshot, ports)
    return false
  }
  if (content === undefined) return true
  if (content.metadata.deletionTimestamp === undefined) await deleteContent(content, ports)
  return false
}

/**
 * Removes what is left where the snapshot was taken: that of a DataUpload that is Completed was taken over. One that was not quite taken over goes
 * without the snapshot in the storage, which the second content deletes; one that was not at all goes with it.
 */
async function originIsGone(
  upload: DataUpload,
  content: VolumeSnapshotContent | undefined,
  ports: RemovePorts,
): Promise<boolean> {
  if (upload.status?.phase === 'Completed') return true
  const origin = await originOf(upload, ports)
  const takenUid = content?.metadata.annotations?.[originUidAnnotation]
  if (origin === undefined) return orphanIsGone(upload, takenUid, ports)
  if (origin.metadata.ownerReferences?.some(({ kind }) => kind === groupKind)) return true
  if (takenUid !== undefined && takenUid === origin.metadata.uid) await releaseOrDiscard(origin, ports)
  else if (await mayBeDiscarded(origin, ports)) await discardSnapshot(origin, ports)
  return false
}

/** Where contents cannot be told to keep their snapshots, both delete it, which a driver has to bear. */
async function releaseOrDiscard(origin: VolumeSnapshot, ports: RemovePorts): Promise<void> {
  try {
    await releaseSnapshot(origin, ports)
  } catch (error) {
    ports.signal.throwIfAborted()
    if (!isRefusal(error)) throw error
    await discardSnapshot(origin, ports)
  }
}

/** Others have their turn while the content of a snapshot is awaited. */
async function mayBeDiscarded(origin: VolumeSnapshot, ports: RemovePorts): Promise<boolean> {
  return !mayGetContent(origin, ports.clock.now()) || (await contentOf(origin, ports)) !== undefined
}

/** Removes the content of a snapshot that somebody else has deleted while it was taken over. */
async function orphanIsGone(
  { spec }: DataUpload,
  originUid: string | undefined,
  ports: RemovePorts,
): Promise<boolean> {
  if (!originUid) return true
  const { volumeSnapshot: name = '' } = spec.csiSnapshot ?? {}
  const metadata = { name, namespace: spec.sourceNamespace, uid: originUid }
  const gone: VolumeSnapshot = { apiVersion: '', kind: '', metadata, spec: { source: {} } }
  const orphan = await contentOf(gone, ports)
  if (orphan === undefined) return true
  await setPolicy(orphan, 'Retain', ports).catch((error: unknown) => {
    if (!isRefusal(error)) throw error
  })
  await deleteContent(orphan, ports)
  return false
}

import {
  type DataUpload,
  durationMilliseconds,
  labelNames,
  lateenAnnotation,
  parseTime,
  validLabelValue,
} from '@lateen/api'
import { type Clock, isAlreadyExists, type KubeClient, unlessNotFound } from '@lateen/kube'
import { groupHandlesAnnotation } from '../csi/group-members.ts'
import { contentOf, releaseSnapshot } from '../csi/release-snapshot.ts'
import {
  snapshotGroup,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from '../csi/snapshot-kinds.ts'
import { snapshotProgress } from '../csi/snapshot-progress.ts'
import { DataPathError } from './data-path-error.ts'

/** On the two objects by which a snapshot is read: the UID of the DataUpload that they are for. */
export const uploadUidAnnotation = lateenAnnotation('data-upload-uid')

/** On the content: the UID of the VolumeSnapshot that it was taken over from. */
export const originUidAnnotation = lateenAnnotation('snapshot-uid')

/** On the content: the volume that the snapshot is read from, which has to go before the snapshot does. */
export const volumeAnnotation = lateenAnnotation('exposed-volume')

/** Of contents that only one node's snapshotter looks after. */
const managedByLabel = 'snapshot.storage.kubernetes.io/managed-by'

/** What the snapshot controller notes for itself on a content, which is not true of another one. */
const notesOfController = [
  'snapshot.storage.kubernetes.io/volumesnapshot-being-created',
  'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted',
  'snapshot.storage.kubernetes.io/volumegroupsnapshot-being-created',
]

/** Keeps a content until the snapshot in the storage is dealt with. The snapshotter sets it, but not at once. */
const boundProtection = 'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'

/** On what is made to read a snapshot by: what it is for, and that it is no part of any backup that runs meanwhile. */
export function intermediateLabels(upload: string): Record<string, string> {
  return { [labelNames.dataUpload]: validLabelValue(upload), [labelNames.excludeFromBackup]: 'true' }
}

/** Velero's, for snapshots whose DataUpload says nothing. */
const HANDLE_TIMEOUT_MS = 600_000

export interface SnapshotToReadPorts {
  client: KubeClient
  clock: Clock
  signal: AbortSignal
}

/** A snapshot that volumes can be made from in the namespace of its DataUpload. */
export interface SnapshotToRead {
  readonly snapshot: VolumeSnapshot
  readonly content: VolumeSnapshotContent
}

/**
 * Takes over the snapshot of a DataUpload from the namespace where it was taken: two objects in the DataUpload's name stand for it, and what
 * was there before is removed. At each moment there is a content that deletes the snapshot with it, so none is left behind by whoever dies on the way; and the
 * first content goes only when the second one works and the first was told to keep the snapshot. Undefined as long as there is something to wait for. Throws `SNAPSHOT_LOST` and
 * `NAME_TAKEN`, CsiErrors and KubeErrors.
 */
export async function takeOverSnapshot(
  upload: DataUpload,
  ports: SnapshotToReadPorts,
): Promise<SnapshotToRead | undefined> {
  const content = (await ownContent(upload, ports)) ?? (await createContent(upload, ports))
  if (content === undefined) return undefined
  const snapshot = (await ownSnapshot(upload, ports)) ?? (await createSnapshot(upload, content, ports))
  if (snapshot.status?.readyToUse !== true) return undefined
  const origin = await originOf(upload, ports)
  const isOrigin = origin?.metadata.uid === content.metadata.annotations?.[originUidAnnotation]
  // One of a group stays with its group, which the server removes as a whole.
  if (origin !== undefined && isOrigin && !isOfGroup(content)) await releaseSnapshot(origin, ports)
  return { snapshot, content }
}

/** The VolumeSnapshot that was taken of the claim, as long as it is there. Throws KubeErrors. */
export async function originOf(
  { spec }: DataUpload,
  { client, signal }: Omit<SnapshotToReadPorts, 'clock'>,
): Promise<VolumeSnapshot | undefined> {
  const name = spec.csiSnapshot?.volumeSnapshot
  if (!name) return undefined
  return client.resource(VolumeSnapshotKind, spec.sourceNamespace).get(name, { signal }).catch(unlessNotFound)
}

/** The content in the DataUpload's name. Throws `NAME_TAKEN` where that is another's, and KubeErrors. */
export async function ownContent(
  upload: DataUpload,
  { client, signal }: Omit<SnapshotToReadPorts, 'clock'>,
): Promise<VolumeSnapshotContent | undefined> {
  const { name = '' } = upload.metadata
  const found = await client.resource(VolumeSnapshotContentKind).get(name, { signal }).catch(unlessNotFound)
  return found && own(found, upload)
}

/** The snapshot in the DataUpload's name. Throws `NAME_TAKEN` where that is another's, and KubeErrors. */
export async function ownSnapshot(
  upload: DataUpload,
  { client, signal }: Omit<SnapshotToReadPorts, 'clock'>,
): Promise<VolumeSnapshot | undefined> {
  const { name = '', namespace } = upload.metadata
  const snapshots = client.resource(VolumeSnapshotKind, namespace)
  const found = await snapshots.get(name, { signal }).catch(unlessNotFound)
  return found && own(found, upload)
}

function own<T extends VolumeSnapshot | VolumeSnapshotContent>(found: T, { metadata }: DataUpload): T {
  if (found.metadata.annotations?.[uploadUidAnnotation] === metadata.uid) return found
  throw new DataPathError('NAME_TAKEN', {
    reason: `there is a ${found.kind} ${metadata.name} already that was not made for this DataUpload`,
    hint: 'Remove it, and take another backup',
  })
}

/** Undefined as long as the snapshot is not ready. */
async function createContent(
  upload: DataUpload,
  ports: SnapshotToReadPorts,
): Promise<VolumeSnapshotContent | undefined> {
  const { client, clock, signal } = ports
  const { volumeSnapshot = '' } = upload.spec.csiSnapshot ?? {}
  const about = `the snapshot ${upload.spec.sourceNamespace}/${volumeSnapshot}`
  const snapshot = await originOf(upload, ports)
  const content = snapshot && (await contentOf(snapshot, ports))
  const { acceptedTimestamp } = upload.status ?? {}
  const now = clock.now()
  const { completed, error } = snapshotProgress(
    { snapshot, content },
    {
      began: acceptedTimestamp ? parseTime(acceptedTimestamp) : now,
      now,
      handleTimeoutMs: durationMilliseconds(upload.spec.operationTimeout) || HANDLE_TIMEOUT_MS,
    },
  )
  if (error !== '') {
    throw new DataPathError('SNAPSHOT_LOST', {
      reason: `${about} cannot be read: ${error}`,
      hint: 'See whether the CSI driver and its snapshotter run, and take another backup',
    })
  }
  if (!completed || content === undefined || snapshot === undefined) return undefined
  const wanted = newContent(upload, { snapshot, content })
  return client
    .resource(VolumeSnapshotContentKind)
    .create(wanted, { signal })
    .catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure
      return ownContent(upload, ports)
    })
}

/** Whether the snapshot of a content was taken with a group, and can only be deleted with it. */
export function isOfGroup({ metadata }: VolumeSnapshotContent): boolean {
  return metadata.annotations?.[groupHandlesAnnotation] !== undefined
}

/** Deletes the snapshot in the storage when it is deleted, whatever the first one was to do. */
export function newContent(
  { metadata }: DataUpload,
  { snapshot, content }: { snapshot: VolumeSnapshot; content: VolumeSnapshotContent },
): VolumeSnapshotContent {
  const { name = '', namespace = '', uid = '' } = metadata
  const managedBy = content.metadata.labels?.[managedByLabel]
  const { driver, sourceVolumeMode, volumeSnapshotClassName } = content.spec
  const { snapshotHandle = '' } = content.status ?? {}
  const inherited = Object.entries(content.metadata.annotations ?? {}).filter(
    ([key]) => !notesOfController.includes(key),
  )
  return {
    apiVersion: `${snapshotGroup}/v1`,
    kind: 'VolumeSnapshotContent',
    metadata: {
      name,
      labels: {
        ...(managedBy !== undefined && { [managedByLabel]: managedBy }),
        ...intermediateLabels(name),
      },
      annotations: {
        ...Object.fromEntries(inherited),
        [uploadUidAnnotation]: uid,
        [originUidAnnotation]: snapshot.metadata.uid ?? '',
      },
      finalizers: [boundProtection],
    },
    spec: {
      deletionPolicy: isOfGroup(content) ? 'Retain' : 'Delete',
      driver,
      source: { snapshotHandle },
      ...(sourceVolumeMode && { sourceVolumeMode }),
      ...(volumeSnapshotClassName && { volumeSnapshotClassName }),
      volumeSnapshotRef: { apiVersion: `${snapshotGroup}/v1`, kind: 'VolumeSnapshot', namespace, name },
    },
  }
}

async function createSnapshot(
  upload: DataUpload,
  { spec }: VolumeSnapshotContent,
  ports: SnapshotToReadPorts,
): Promise<VolumeSnapshot> {
  const { client, signal } = ports
  const { name = '', namespace = '', uid = '' } = upload.metadata
  const { volumeSnapshotClassName } = spec
  // No owner: the volume that is made from it has to go first.
  const wanted: VolumeSnapshot = {
    apiVersion: `${snapshotGroup}/v1`,
    kind: 'VolumeSnapshot',
    metadata: {
      name,
      namespace,
      labels: intermediateLabels(name),
      annotations: { [uploadUidAnnotation]: uid },
    },
    spec: {
      source: { volumeSnapshotContentName: name },
      ...(volumeSnapshotClassName && { volumeSnapshotClassName }),
    },
  }
  return client
    .resource(VolumeSnapshotKind, namespace)
    .create(wanted, { signal })
    .catch(async (failure: unknown) => {
      const found = isAlreadyExists(failure) ? await ownSnapshot(upload, ports) : undefined
      if (found === undefined) throw failure
      return found
    })
}

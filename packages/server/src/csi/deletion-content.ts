import { createHash } from 'node:crypto'
import { type Backup, labelNames, validLabelValue } from '@lateen/api'
import { type VolumeGroupSnapshotContent, VolumeGroupSnapshotContentKind } from './group-snapshot-kinds.ts'
import { groupSnapshotGroup, snapshotGroup, type VolumeSnapshotContent } from './snapshot-kinds.ts'
import {
  deletionSecretAnnotations,
  type StoredGroup,
  type StoredSnapshot,
  snapshotKey,
} from './stored-snapshot.ts'

/**
 * Keeps a content until the snapshotter of its driver has deleted the snapshot. The snapshot controller puts it on contents that
 * are bound only: one that is bound to nothing needs it from the beginning, or it would go before anybody has seen it.
 */
export const contentFinalizer = 'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'
const groupFinalizer = 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection'

/** The same each time, so that whoever takes over finds what was begun and leaves nothing behind. */
function uuidOf({ metadata }: Backup, subject: string): string {
  const hex = createHash('sha256').update(`${metadata.uid}/${subject}`).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  )
}

/** The name of the content by which the deletion of a backup deletes a snapshot. */
export function deletionContentName(
  backup: Backup,
  snapshot: Pick<StoredSnapshot, 'driver' | 'handle'>,
): string {
  return `vsc-${uuidOf(backup, snapshotKey(snapshot))}`
}

/** A content by whose deletion the snapshot is deleted. It stands for a VolumeSnapshot that does not exist, nor will. */
export function deletionContent(
  backup: Backup,
  snapshot: StoredSnapshot,
  className: string | undefined,
): VolumeSnapshotContent {
  const { driver, handle, sourceVolumeMode, secret } = snapshot
  const name = deletionContentName(backup, snapshot)
  const id = snapshot.contentUid || name.slice('vsc-'.length)
  const apiVersion = `${snapshotGroup}/v1`
  return {
    apiVersion,
    kind: 'VolumeSnapshotContent',
    metadata: {
      name,
      labels: labelsOf(backup),
      finalizers: [contentFinalizer],
      ...(secret && {
        annotations: {
          [deletionSecretAnnotations.name]: secret.name,
          [deletionSecretAnnotations.namespace]: secret.namespace,
        },
      }),
    },
    spec: {
      deletionPolicy: 'Delete',
      driver,
      source: { snapshotHandle: handle },
      ...(sourceVolumeMode && { sourceVolumeMode }),
      ...(className && { volumeSnapshotClassName: className }),
      volumeSnapshotRef: { apiVersion, kind: 'VolumeSnapshot', namespace: `ns-${id}`, name: `name-${id}` },
    },
  }
}

/** A content by whose deletion a group of snapshots is deleted, with all its members. */
export function groupDeletionContent(
  backup: Backup,
  { driver, handle, members, handles }: StoredGroup,
): VolumeGroupSnapshotContent {
  const id = uuidOf(backup, `group/${snapshotKey({ driver, handle })}`)
  const secret = members.find(each => each.secret !== undefined)?.secret
  const apiVersion = `${groupSnapshotGroup}/${VolumeGroupSnapshotContentKind.version}`
  return {
    apiVersion,
    kind: 'VolumeGroupSnapshotContent',
    metadata: {
      name: `vsc-${id}`,
      labels: labelsOf(backup),
      finalizers: [groupFinalizer],
      ...(secret && {
        annotations: {
          'groupsnapshot.storage.kubernetes.io/deletion-secret-name': secret.name,
          'groupsnapshot.storage.kubernetes.io/deletion-secret-namespace': secret.namespace,
        },
      }),
    },
    spec: {
      deletionPolicy: 'Delete',
      driver,
      source: {
        groupSnapshotHandles: {
          volumeGroupSnapshotHandle: handle,
          volumeSnapshotHandles: [...handles],
        },
      },
      volumeGroupSnapshotRef: {
        ...{ apiVersion, kind: 'VolumeGroupSnapshot' },
        ...{ namespace: `ns-${id}`, name: `name-${id}` },
      },
    },
  }
}

function labelsOf({ metadata }: Backup): Record<string, string> {
  return {
    [labelNames.backupName]: validLabelValue(metadata.name ?? ''),
    [labelNames.backupUid]: metadata.uid ?? '',
  }
}

/** A content by which something is deleted, of one snapshot or of a group. */
export type DeletionContent = VolumeSnapshotContent | VolumeGroupSnapshotContent

/** What the deletion of a snapshot, or of a group of them, depends on. */
export interface SeenDeletion {
  /** Undefined when it is not there. */
  content: DeletionContent | undefined
  /** Whether this process deleted the content, which it does only when the driver will be asked to delete the snapshot. */
  asked: boolean
  /** Whether the time for what is being waited for is over. */
  isLate: boolean
}

export type DeletionMove =
  | 'create'
  /** The snapshotter deletes what it has noted a handle of, and nothing else; and no member of a group. */
  | 'note-handle'
  | 'delete'
  | 'wait'
  | 'give-up'
  | 'gone'

/**
 * What to do next about the content by which a snapshot is deleted. An error of the driver when it looks at the snapshot does not matter: it may
 * say in any words that there is none any more, and its answer to the deletion tells. A snapshot that is not ready in time is
 * deleted all the same.
 */
export function nextDeletionMove({ content, asked, isLate }: SeenDeletion): DeletionMove {
  if (content === undefined && asked) return 'gone'
  const unlessLate = (move: DeletionMove) => (isLate ? 'give-up' : move)
  if (content === undefined) return unlessLate('create')
  if (content.metadata.deletionTimestamp !== undefined) return unlessLate('wait')
  const { readyToUse, error } = content.status ?? {}
  const { handle, isMember } = notedOf(content)
  if (!handle) return error === undefined ? unlessLate('wait') : 'note-handle'
  if (readyToUse !== true && !isLate) return 'wait'
  return readyToUse !== true || isMember ? 'note-handle' : 'delete'
}

function notedOf({ kind, status }: DeletionContent): { handle: string | undefined; isMember: boolean } {
  const noted: VolumeSnapshotContent['status'] = status ?? {}
  const { snapshotHandle, volumeGroupSnapshotHandle: group } = noted
  if (kind === VolumeGroupSnapshotContentKind.kind) return { handle: group, isMember: false }
  return { handle: snapshotHandle, isMember: Boolean(group) }
}

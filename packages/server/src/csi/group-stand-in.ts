import { labelNames, type Restore, validLabelValue } from '@lateen/api'
import {
  deleteExactly,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  noneIfUnseen,
  unlessNotFound,
} from '@lateen/kube'
import { groupHandlesAnnotation } from './group-members.ts'
import {
  type VolumeGroupSnapshotClass,
  VolumeGroupSnapshotClassKind,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContentKind,
} from './group-snapshot-kinds.ts'
import { restoredByAnnotation } from './restored-pair-mark.ts'
import { restoredSnapshotName } from './restored-snapshot-name.ts'
import { groupSnapshotGroup, type VolumeSnapshotContent } from './snapshot-kinds.ts'

/** How a VolumeGroupSnapshotClass, and how a content, names the Secret that the driver needs. */
const secretNames = [
  [
    'csi.storage.k8s.io/group-snapshotter-secret-name',
    'groupsnapshot.storage.kubernetes.io/deletion-secret-name',
  ],
  [
    'csi.storage.k8s.io/group-snapshotter-secret-namespace',
    'groupsnapshot.storage.kubernetes.io/deletion-secret-namespace',
  ],
] as const

export interface StandInPorts {
  client: KubeClient
  signal?: AbortSignal | undefined
}

/** A content that stands for a group while snapshots of it are restored. */
export interface GroupStandIn {
  content: VolumeGroupSnapshotContent
  restoreUid: string
  /** `namespace/name` of the restore. */
  restoredBy: string
}

/** A member of a group snapshot that is restored, as it was backed up. */
export interface RestoredMember {
  restore: Restore
  content: VolumeSnapshotContent
  handle: string
  /** Where its VolumeSnapshot goes. */
  namespace: string
}

/**
 * The snapshot controller binds a member of a group only where a VolumeGroupSnapshotContent has the handle of the group: a restore makes one that stands for it, and
 * never deletes anything in the storage. Nothing for snapshots of no group, and where the cluster does not know groups. May be repeated. Throws KubeErrors.
 */
export async function ensureGroupStandIn(
  member: RestoredMember,
  { client, signal }: StandInPorts,
): Promise<void> {
  const group = member.content.status?.volumeGroupSnapshotHandle
  if (!group) return
  const contents = client.resource(VolumeGroupSnapshotContentKind)
  const name = standInName(member.restore, group)
  const existing = await contents.get(name, { signal }).catch(unlessNotFound)
  const known = existing?.spec.source.groupSnapshotHandles?.volumeSnapshotHandles ?? []
  const handles = [...new Set([...known, ...handlesOf(member)])]
  try {
    if (existing === undefined) {
      const classes = await client.resource(VolumeGroupSnapshotClassKind).list({ signal }).toArray()
      await contents.create(standIn(member, { name, group, handles, classes }), { signal })
    } else if (handles.length > known.length) {
      const groupSnapshotHandles = { volumeGroupSnapshotHandle: group, volumeSnapshotHandles: handles }
      const body = { spec: { source: { groupSnapshotHandles } } }
      await contents.patch(name, { type: 'merge', body }, { signal })
    }
  } catch (error) {
    // Not served.
    if (isNotFound(error)) return
    if (!isAlreadyExists(error)) throw error
  }
  // The sidecar would note the same, once the driver has told it about the whole group.
  const body = { status: { volumeGroupSnapshotHandle: group } }
  await contents.patch(name, { type: 'merge', body }, { subresource: 'status', signal }).catch(unlessNotFound)
}

/** What stands for groups of restores, of one restore or of all; nothing where the cluster does not know groups. Throws KubeErrors. */
export async function listGroupStandIns(
  { client, signal }: StandInPorts,
  restoreUid?: string,
): Promise<GroupStandIn[]> {
  const { restoreUid: label } = labelNames
  const labelSelector = restoreUid === undefined ? label : `${label}=${restoreUid}`
  const found = await client
    .resource(VolumeGroupSnapshotContentKind)
    .list({ labelSelector, signal })
    .toArray()
    .catch(noneIfUnseen)
  return found.flatMap(content => {
    const { labels, annotations } = content.metadata
    const restoredBy = annotations?.[restoredByAnnotation]
    if (restoredBy === undefined || content.spec.deletionPolicy !== 'Retain') return []
    return [{ content, restoreUid: labels?.[label] ?? '', restoredBy }]
  })
}

/** Removes what no snapshot of its restore is bound by any more. May be repeated. Throws KubeErrors. */
export async function removeGroupStandIn(
  { content }: GroupStandIn,
  { client, signal }: StandInPorts,
): Promise<void> {
  await deleteExactly(client.resource(VolumeGroupSnapshotContentKind), content, signal)
}

function standInName({ metadata }: Restore, groupHandle: string): string {
  return restoredSnapshotName(metadata.uid ?? '', groupHandle)
}

function handlesOf({ content, handle }: RestoredMember): string[] {
  const all = content.metadata.annotations?.[groupHandlesAnnotation]?.split(',') ?? []
  return all.includes(handle) ? all : [...all, handle]
}

interface StandInFacts {
  name: string
  group: string
  handles: string[]
  classes: readonly VolumeGroupSnapshotClass[]
}

function standIn(
  { restore, content, namespace }: RestoredMember,
  { name, group, handles, classes }: StandInFacts,
): VolumeGroupSnapshotContent {
  const { driver } = content.spec
  const { parameters = {} } = classes.find(each => each.driver === driver) ?? {}
  const secret = secretNames.flatMap(([parameter, annotation]) =>
    parameters[parameter] === undefined ? [] : [[annotation, parameters[parameter]]],
  )
  return {
    apiVersion: `${groupSnapshotGroup}/${VolumeGroupSnapshotContentKind.version}`,
    kind: VolumeGroupSnapshotContentKind.kind,
    metadata: {
      name,
      labels: {
        [labelNames.restoreName]: validLabelValue(restore.metadata.name ?? ''),
        [labelNames.restoreUid]: restore.metadata.uid ?? '',
      },
      annotations: {
        ...Object.fromEntries(secret),
        [restoredByAnnotation]: `${restore.metadata.namespace}/${restore.metadata.name}`,
      },
    },
    spec: {
      deletionPolicy: 'Retain',
      driver,
      source: {
        groupSnapshotHandles: { volumeGroupSnapshotHandle: group, volumeSnapshotHandles: handles },
      },
      volumeGroupSnapshotRef: {
        apiVersion: `${groupSnapshotGroup}/${VolumeGroupSnapshotContentKind.version}`,
        kind: 'VolumeGroupSnapshot',
        namespace,
        name,
      },
    },
  }
}

import { labelNames, type Restore, validLabelValue } from '@lateen/api'
import {
  deleteExactly,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  noneIfUnseen,
  unlessNotFound,
} from '@lateen/kube'
import type { BackedUpObjects } from '@lateen/plugin'
import {
  type VolumeGroupSnapshotClass,
  VolumeGroupSnapshotClassKind,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContentKind,
} from './group-snapshot-kinds.ts'
import { restoredByAnnotation } from './restored-pair-mark.ts'
import { restoredSnapshotName } from './restored-snapshot-name.ts'
import { groupSnapshotGroup, snapshotGroup, type VolumeSnapshotContent } from './snapshot-kinds.ts'
import { type StoredGroup, storedContent, storedGroups, storedSnapshotOf } from './stored-snapshot.ts'

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
  backedUp: BackedUpObjects
}

/**
 * The snapshot controller binds a member of a group only where a VolumeGroupSnapshotContent has the handle of the group: a restore makes one that stands for it, and
 * never deletes anything in the storage. It names all members that the backup knows of, because its handles cannot be changed. Nothing for snapshots of no group, and where the cluster does not know groups. May be repeated. Throws KubeErrors.
 */
export async function ensureGroupStandIn(
  member: RestoredMember,
  { client, signal }: StandInPorts,
): Promise<void> {
  const group = member.content.status?.volumeGroupSnapshotHandle
  if (!group) return
  const contents = client.resource(VolumeGroupSnapshotContentKind)
  const name = standInName(member.restore, group)
  try {
    if ((await contents.get(name, { signal }).catch(unlessNotFound)) === undefined) {
      const handles = await handlesOf(member, group)
      const classes = await client.resource(VolumeGroupSnapshotClassKind).list({ signal }).toArray()
      await contents.create(standIn(member, { name, group, handles, classes }), { signal })
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

async function handlesOf({ content, handle, backedUp }: RestoredMember, group: string): Promise<string[]> {
  const groups = await groupsIn(backedUp)
  const own = groups.find(each => each.driver === content.spec.driver && each.handle === group)
  return [...new Set([...(own?.handles ?? []), handle])]
}

const known = new WeakMap<BackedUpObjects, Promise<StoredGroup[]>>()

/** Read once for each backup. */
function groupsIn(backedUp: BackedUpObjects): Promise<StoredGroup[]> {
  const reading = known.get(backedUp) ?? readGroups(backedUp)
  known.set(backedUp, reading)
  return reading
}

async function readGroups(backedUp: BackedUpObjects): Promise<StoredGroup[]> {
  const contents: VolumeSnapshotContent[] = []
  for await (const each of backedUp.list({ group: snapshotGroup, resource: 'volumesnapshotcontents' })) {
    contents.push(...[storedContent(each)].filter(content => content !== undefined))
  }
  return storedGroups(contents.flatMap(content => storedSnapshotOf(content) ?? []))
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

import { type Backup, labelNames, lateenAnnotation, validLabelValue } from '@lateen/api'
import { type KubeClient, unlessNotFound } from '@lateen/kube'
import {
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContentKind,
  VolumeGroupSnapshotKind,
} from './group-snapshot-kinds.ts'
import { isGoing } from './is-going.ts'
import { contentOf } from './release-snapshot.ts'
import {
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from './snapshot-kinds.ts'

/** The handles of all snapshots of a group, as a list with commas. On VolumeSnapshotContents: a group is deleted as a whole, and by all its members. */
export const groupHandlesAnnotation = lateenAnnotation('group-snapshot-handles')

/** A snapshot of a group, with its content once it has one. */
export interface GroupMember {
  snapshot: VolumeSnapshot
  content: VolumeSnapshotContent | undefined
}

/** What the driver and the snapshot controller have made of a group snapshot. */
export interface GroupState {
  content: VolumeGroupSnapshotContent | undefined
  members: GroupMember[]
}

export interface GroupPorts {
  client: KubeClient
  signal: AbortSignal
}

/** Reads what there is of a group snapshot now. Throws KubeErrors, and the signal's reason. */
export async function readGroup(group: VolumeGroupSnapshot, ports: GroupPorts): Promise<GroupState> {
  const { client, signal } = ports
  const { namespace, uid } = group.metadata
  const content = await groupContentOf(group, ports)
  const members: GroupMember[] = []
  for await (const snapshot of client.resource(VolumeSnapshotKind, namespace).list({ signal })) {
    if (!snapshot.metadata.ownerReferences?.some(owner => owner.uid === uid)) continue
    members.push({ snapshot, content: await contentOf(snapshot, ports) })
  }
  return { content, members }
}

async function groupContentOf(
  { metadata, status }: VolumeGroupSnapshot,
  { client, signal }: GroupPorts,
): Promise<VolumeGroupSnapshotContent | undefined> {
  // How the snapshot controller names those that it makes.
  const name = status?.boundVolumeGroupSnapshotContentName || `groupsnapcontent-${metadata.uid}`
  return client.resource(VolumeGroupSnapshotContentKind).get(name, { signal }).catch(unlessNotFound)
}

/** Whether a snapshot was taken with a group that is gone or going, and the snapshot in the storage with it. Throws KubeErrors, and the signal's reason. */
export async function isGroupLost({ metadata, status }: VolumeSnapshot, ports: GroupPorts): Promise<boolean> {
  const { client, signal } = ports
  const name = status?.volumeGroupSnapshotName
  if (!name) return false
  const groups = client.resource(VolumeGroupSnapshotKind, metadata.namespace)
  const group = await groups.get(name, { signal }).catch(unlessNotFound)
  if (group === undefined || isGoing(group)) return true
  const content = await groupContentOf(group, ports)
  return content === undefined || isGoing(content)
}

/** The handles of all snapshots of a group; undefined until all of them have objects that say whose they are. */
export function handlesWhenComplete({ content, members }: GroupState): string[] | undefined {
  const { volumeGroupSnapshotHandle, volumeSnapshotInfoList = [] } = content?.status ?? {}
  if (!volumeGroupSnapshotHandle || volumeSnapshotInfoList.length === 0) return undefined
  const known = new Set(
    members.flatMap(({ content: each }) =>
      each?.status?.volumeGroupSnapshotHandle ? (each.status.snapshotHandle ?? []) : [],
    ),
  )
  const handles = volumeSnapshotInfoList.map(({ snapshotHandle = '' }) => snapshotHandle)
  return handles.every(handle => known.has(handle)) ? handles : undefined
}

/** Marks all objects of a group as those of a backup, so that they are found when the VolumeGroupSnapshot is gone. May be repeated. */
export async function markGroup(
  { content, members }: GroupState,
  { metadata }: Pick<Backup, 'metadata'>,
  { client, signal }: GroupPorts,
): Promise<GroupMember[]> {
  const { name = '', uid = '' } = metadata
  const labels = { [labelNames.backupName]: validLabelValue(name), [labelNames.backupUid]: uid }
  const handles = handlesWhenComplete({ content, members })
  const annotations = handles === undefined ? {} : { [groupHandlesAnnotation]: handles.join(',') }
  const isMarked = (each: { metadata: { labels?: Record<string, string> | undefined } }) =>
    each.metadata.labels?.[labelNames.backupUid] === uid
  const patch = { type: 'merge', body: { metadata: { labels, annotations } } } as const
  if (content !== undefined && !isMarked(content)) {
    await client
      .resource(VolumeGroupSnapshotContentKind)
      .patch(content.metadata.name ?? '', patch, { signal })
      .catch(unlessNotFound)
  }
  return Promise.all(
    members.map(async ({ snapshot, content: own }) => {
      if (own !== undefined && !(isMarked(own) && own.metadata.annotations?.[groupHandlesAnnotation])) {
        await client
          .resource(VolumeSnapshotContentKind)
          .patch(own.metadata.name ?? '', patch, { signal })
          .catch(unlessNotFound)
      }
      if (isMarked(snapshot)) return { snapshot, content: own }
      const marked = await client
        .resource(VolumeSnapshotKind, snapshot.metadata.namespace)
        .patch(snapshot.metadata.name ?? '', { type: 'merge', body: { metadata: { labels } } }, { signal })
        .catch(unlessNotFound)
      return { snapshot: marked ?? snapshot, content: own }
    }),
  )
}

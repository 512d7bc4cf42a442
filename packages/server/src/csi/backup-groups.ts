import { labelNames } from '@lateen/api'
import { deleteExactly, isForbidden, unlessChanged, unlessNotFound } from '@lateen/kube'
import { groupSnapshotName } from './claim-group.ts'
import { type GroupPorts, groupHandlesAnnotation, markGroup, readGroup } from './group-members.ts'
import {
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContentKind,
  VolumeGroupSnapshotKind,
} from './group-snapshot-kinds.ts'
import { isGoing } from './is-going.ts'
import { deleteContent, deleteSnapshot, setPolicy, setPolicyOf } from './release-snapshot.ts'
import {
  type DeletionPolicy,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
} from './snapshot-kinds.ts'

/** What is in the cluster of one group snapshot of a backup. What is not there any more is absent. */
export interface BackupGroup {
  group: VolumeGroupSnapshot | undefined
  content: VolumeGroupSnapshotContent | undefined
  snapshots: VolumeSnapshot[]
  contents: VolumeSnapshotContent[]
}

/** Whether a snapshot was taken with a group. */
export function isMemberOf({ metadata }: VolumeSnapshot, { snapshots }: BackupGroup): boolean {
  return snapshots.some(each => each.metadata.uid === metadata.uid)
}

/** Where the snapshots of a group are, or were, as far as objects tell. */
export function membersOf({ snapshots, contents }: BackupGroup): { namespace: string; name: string }[] {
  const named = [
    ...snapshots.map(({ metadata }) => metadata),
    ...contents.map(({ spec }) => spec.volumeSnapshotRef),
  ]
  const members = named.map(({ namespace = '', name = '' }) => ({ namespace, name }))
  return [...new Map(members.map(each => [`${each.namespace}/${each.name}`, each])).values()]
}

/**
 * Whether somebody who removed a group had the storage keep it, and died when some of its snapshots were not known any more. That one of them was
 * needed can be told by the policy alone then.
 */
export function isHalfKept(found: BackupGroup): boolean {
  const { group, content } = found
  const { volumeGroupSnapshotHandle, volumeSnapshotInfoList = [] } = content?.status ?? {}
  if (content?.spec.deletionPolicy !== 'Retain' || !volumeGroupSnapshotHandle) return false
  if (group !== undefined && !isGoing(group)) return false
  const known = membersOf(found).length
  return known === 0 || known < volumeSnapshotInfoList.length
}

/** Whether a group snapshot was taken by the backup with that uid. The label alone does not tell, because people copy objects with their labels. */
export function isGroupOf({ metadata, spec }: VolumeGroupSnapshot, backupUid: string): boolean {
  const { namespace = '', name, labels } = metadata
  if (backupUid === '' || labels?.[labelNames.backupUid] !== backupUid) return false
  const selected = Object.entries(spec.source.selector?.matchLabels ?? {})
  return selected.some(([label, value]) => name === groupSnapshotName(backupUid, { namespace, label, value }))
}

/** What the snapshot controller marks contents with when their group goes. Without it the sidecar keeps them. */
const goingAnnotation = 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted'

/**
 * The group snapshots in the cluster that a backup took, and what is left of those that are half removed. All their objects are marked as
 * the backup's when this returns. None where the cluster does not know groups, or does not let the server see any. Throws KubeErrors, and the signal's reason.
 */
export async function groupsOfBackup(
  backup: Parameters<typeof markGroup>[1],
  ports: GroupPorts,
): Promise<BackupGroup[]> {
  const { client, signal } = ports
  const labelSelector = `${labelNames.backupUid}=${backup.metadata.uid}`
  const found = new Map<string, BackupGroup>()
  const groups = await client
    .resource(VolumeGroupSnapshotKind)
    .list({ labelSelector, signal })
    .toArray()
    .catch((error: unknown) => (isForbidden(error) ? undefined : unlessNotFound(error)))
  if (groups === undefined) return []
  for (const group of groups.filter(each => isGroupOf(each, backup.metadata.uid ?? ''))) {
    const state = await readGroup(group, ports)
    const members = await markGroup(state, backup, ports)
    found.set(group.metadata.uid ?? '', {
      group,
      content: state.content,
      snapshots: members.map(({ snapshot }) => snapshot),
      contents: members.flatMap(({ content }) => content ?? []),
    })
  }
  await addRemains(found, labelSelector, ports)
  return [...found.values()]
}

/** What is left of groups whose VolumeGroupSnapshot is gone. */
async function addRemains(
  found: Map<string, BackupGroup>,
  labelSelector: string,
  { client, signal }: GroupPorts,
): Promise<void> {
  const known = (uid: string) => {
    const group = found.get(uid) ?? { group: undefined, content: undefined, snapshots: [], contents: [] }
    found.set(uid, group)
    return group
  }
  for await (const content of client
    .resource(VolumeGroupSnapshotContentKind)
    .list({ labelSelector, signal })) {
    known(content.spec.volumeGroupSnapshotRef.uid ?? '').content = content
  }
  const seen = new Set([...found.values()].flatMap(({ contents }) => contents.map(each => each.metadata.uid)))
  for await (const content of client.resource(VolumeSnapshotContentKind).list({ labelSelector, signal })) {
    if (!content.metadata.annotations?.[groupHandlesAnnotation] || seen.has(content.metadata.uid)) continue
    const { volumeGroupSnapshotHandle: handle } = content.status ?? {}
    const own = [...found].find(
      ([, each]) => handle && each.content?.status?.volumeGroupSnapshotHandle === handle,
    )
    known(own?.[0] ?? handle ?? '').contents.push(content)
  }
}

/**
 * Removes the objects of a group from the cluster. Kept, its snapshots stay in the storage: every content is told to, and read again,
 * before anything is deleted. Not kept, the driver deletes the group once it gets to it. May be repeated. Throws CsiError POLICY_NOT_CONFIRMED,
 * and KubeErrors.
 */
export async function removeGroup(found: BackupGroup, kept: boolean, ports: GroupPorts): Promise<void> {
  const { group, content, snapshots, contents } = found
  await setGroupPolicy(found, kept ? 'Retain' : 'Delete', ports)
  if (group !== undefined) {
    const groups = ports.client.resource(VolumeGroupSnapshotKind, group.metadata.namespace)
    await deleteExactly(groups, group, ports.signal)
  }
  if (content !== undefined) await deleteGroupContent(content, ports)
  for (const each of snapshots) await deleteSnapshot(each, ports)
  for (const each of contents) await deleteContent(each, ports)
}

/** Sets what becomes of the snapshots of a group in the storage, and looks whether it is so. */
async function setGroupPolicy(
  { content, contents }: BackupGroup,
  deletionPolicy: DeletionPolicy,
  ports: GroupPorts,
): Promise<void> {
  if (content !== undefined) {
    await setPolicyOf(content, { kind: VolumeGroupSnapshotContentKind, deletionPolicy }, ports)
  }
  for (const each of contents) await setPolicy(each, deletionPolicy, ports)
}

/** The snapshot controller marks only those that their VolumeGroupSnapshot names already. */
async function deleteGroupContent(
  content: VolumeGroupSnapshotContent,
  { client, signal }: GroupPorts,
): Promise<void> {
  const contents = client.resource(VolumeGroupSnapshotContentKind)
  const { name = '', uid } = content.metadata
  const body = { metadata: { uid, annotations: { [goingAnnotation]: 'yes' } } }
  await contents.patch(name, { type: 'merge', body }, { signal }).catch(unlessChanged)
  await deleteExactly(contents, content, signal)
}

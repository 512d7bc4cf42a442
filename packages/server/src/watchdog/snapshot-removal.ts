import type { VolumeSnapshot } from '../csi/snapshot-kinds.ts'
import { quoted } from './finding.ts'

/** A snapshot, or those of one group: no snapshot controller deletes a member before its group. */
export type Members = readonly [VolumeSnapshot, ...VolumeSnapshot[]]

/** Snapshots with those of their group. */
export function together(snapshots: readonly VolumeSnapshot[]): Members[] {
  const groups = Map.groupBy(snapshots, ({ metadata, status }) =>
    JSON.stringify([
      metadata.namespace,
      status?.volumeGroupSnapshotName ?? '',
      groupOf(status) ? '' : metadata.name,
    ]),
  )
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [[first, ...others] as const],
  )
}

/** What the snapshots are to a reader. */
export function subjectOf([first, ...others]: Members): string {
  const { namespace = '', name = '' } = first.metadata
  const group = groupOf(first.status)
  if (group === undefined) return `VolumeSnapshot ${namespace}/${name}`
  return `VolumeGroupSnapshot ${namespace}/${group}, with ${1 + others.length} VolumeSnapshots,`
}

/**
 * The commands that remove the objects of a snapshot, or of a group and all of its snapshots. A content that a snapshot does not tell of yet has the name that
 * snapshot controllers give; where it is not there, no command after the first is carried out.
 */
export function removalOf(members: Members, keep: boolean): string {
  const policy = keep ? 'Retain' : 'Delete'
  const contents = members.flatMap(member => contentOf(member, keep) ?? [])
  const [first] = members
  const { namespace = '', name = '' } = first.metadata
  const there = `--namespace ${quoted(namespace)}`
  const group = groupOf(first.status)
  if (group === undefined) {
    return [
      ...contents.map(content => policyCommand('volumesnapshotcontent', content, policy)),
      ...(keep
        ? contents.map(content => `kubectl delete volumesnapshotcontent ${quoted(content)} --wait=false`)
        : []),
      `kubectl delete volumesnapshot ${quoted(name)} ${there}`,
    ].join(' && ')
  }
  const groupContents = groupContentOf(members)
  return [
    ...groupContents.map(content => policyCommand('volumegroupsnapshotcontent', content, policy)),
    ...contents.map(content => policyCommand('volumesnapshotcontent', content, policy)),
    `kubectl delete volumegroupsnapshot ${quoted(group)} ${there}`,
    ...(keep ? deletions('volumesnapshotcontent', contents) : []),
    ...(keep ? deletions('volumegroupsnapshotcontent', groupContents) : []),
  ].join(' && ')
}

/** What a reader has to know of commands for a snapshot without a content. */
export function ifUnbound([first, ...others]: Members, keep: boolean): string {
  if (!keep || others.length > 0 || first.status?.boundVolumeSnapshotContentName) return ''
  return '. Where there is no such VolumeSnapshotContent nothing was taken, and the last of these commands is enough'
}

function groupOf(status: VolumeSnapshot['status']): string | undefined {
  return status?.volumeGroupSnapshotName || undefined
}

function contentOf({ metadata, spec, status }: VolumeSnapshot, keep: boolean): string | undefined {
  const expected = spec.source.volumeSnapshotContentName ?? `snapcontent-${metadata.uid}`
  return status?.boundVolumeSnapshotContentName || (keep ? expected : undefined)
}

/** By the name that snapshot controllers give. */
function groupContentOf([{ metadata }]: Members): string[] {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'VolumeGroupSnapshot')
  return owner === undefined ? [] : [`groupsnapcontent-${owner.uid}`]
}

function policyCommand(kind: string, name: string, policy: string): string {
  const patch = `'{"spec":{"deletionPolicy":"${policy}"}}'`
  return `kubectl patch ${kind} ${quoted(name)} --type merge --patch ${patch}`
}

function deletions(kind: string, names: readonly string[]): string[] {
  if (names.length === 0) return []
  return [`kubectl delete ${kind} ${names.map(quoted).join(' ')} --ignore-not-found --wait=false`]
}

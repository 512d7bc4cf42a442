import { annotationNames, labelNames, validLabelValue } from '@lateen/api'
import { groupHandlesAnnotation } from './group-members.ts'
import type { VolumeSnapshotClass, VolumeSnapshotContent } from './snapshot-kinds.ts'

/** A snapshot in the storage, as far as it is known to whoever has no object of it in the cluster. */
export interface StoredSnapshot {
  driver: string
  handle: string
  /** Of the content by which it was taken; empty when that is not known. */
  contentUid: string
  className?: string | undefined
  sourceVolumeMode?: string | undefined
  /** With what the driver deletes it. */
  secret?: { namespace: string; name: string } | undefined
  /** The group that it was taken with, and the handles of all members as far as they are known. */
  group?: { handle: string; members: readonly string[] } | undefined
}

/** How the snapshot controller notes on a content which Secret the deletion of its snapshot needs. */
export const deletionSecretAnnotations = {
  name: 'snapshot.storage.kubernetes.io/deletion-secret-name',
  namespace: 'snapshot.storage.kubernetes.io/deletion-secret-namespace',
} as const

/** What was stored as a content, if it is one. */
export function storedContent(value: unknown): VolumeSnapshotContent | undefined {
  const { metadata, spec } = (value ?? {}) as { metadata?: unknown; spec?: Record<string, unknown> | null }
  const parts = [metadata, spec, spec?.source, spec?.volumeSnapshotRef]
  const isContent = parts.every(each => typeof each === 'object' && each !== null)
  return isContent ? (value as VolumeSnapshotContent) : undefined
}

/** The snapshot of a content; undefined before its driver has told a handle. */
export function storedSnapshotOf(content: VolumeSnapshotContent): StoredSnapshot | undefined {
  const { metadata, spec, status } = content
  const handle = status?.snapshotHandle || spec.source.snapshotHandle
  if (!handle || !spec.driver) return undefined
  const name = metadata.annotations?.[deletionSecretAnnotations.name]
  const namespace = metadata.annotations?.[deletionSecretAnnotations.namespace]
  return {
    driver: spec.driver,
    handle,
    contentUid: metadata.uid ?? '',
    className: spec.volumeSnapshotClassName,
    sourceVolumeMode: spec.sourceVolumeMode,
    secret: name && namespace ? { namespace, name } : undefined,
    group: groupOf(content),
  }
}

function groupOf({ metadata, status }: VolumeSnapshotContent): StoredSnapshot['group'] {
  const handle = status?.volumeGroupSnapshotHandle
  const members = metadata.annotations?.[groupHandlesAnnotation]?.split(',') ?? []
  return handle ? { handle, members } : undefined
}

/**
 * Whether a content, in the cluster or in an archive, was made for a backup, by its name. Contents that a restore made read the snapshots
 * of a backup and carry its name, too: nobody else makes one from a handle and says by which restore.
 */
export function isContentOfBackup({ metadata, spec }: VolumeSnapshotContent, backup: string): boolean {
  const labels = new Map(Object.entries(metadata.labels ?? {}))
  if (labels.get(labelNames.backupName) !== validLabelValue(backup)) return false
  return !labels.has(labelNames.restoreName) || spec.source.snapshotHandle === undefined
}

/**
 * The snapshot with the Secret of its class, where its content did not name one. Names that the class leaves open, to be filled in for each
 * content, are not known any more.
 */
export function withSecretOfClass(
  snapshot: StoredSnapshot,
  classes: ReadonlyMap<string, VolumeSnapshotClass>,
): StoredSnapshot {
  const { driver, parameters } = classes.get(snapshot.className ?? '') ?? {}
  const name = parameters?.[annotationNames.snapshotterSecretName]
  const namespace = parameters?.[annotationNames.snapshotterSecretNamespace]
  if (snapshot.secret || driver !== snapshot.driver || !name || !namespace) return snapshot
  return `${name}${namespace}`.includes('${') ? snapshot : { ...snapshot, secret: { namespace, name } }
}

interface CsiVolumeInfo {
  snapshotDataMoved?: unknown
  csiSnapshotInfo?: { snapshotHandle?: unknown; driver?: unknown }
}

/** The snapshots that the list of a backup's volumes knows of. Of moved ones nothing is left in the storage. */
export function snapshotsInVolumeInfo(infos: unknown): StoredSnapshot[] {
  return (Array.isArray(infos) ? infos : []).flatMap((info: CsiVolumeInfo | null) => {
    const { snapshotHandle: handle, driver } = info?.csiSnapshotInfo ?? {}
    if (info?.snapshotDataMoved === true || typeof handle !== 'string' || typeof driver !== 'string')
      return []
    return handle === '' || driver === '' ? [] : [{ driver, handle, contentUid: '' }]
  })
}

/** Each snapshot once, as the first tells of it. */
export function distinctSnapshots(snapshots: readonly StoredSnapshot[]): StoredSnapshot[] {
  const found = new Map<string, StoredSnapshot>()
  for (const each of snapshots) found.set(snapshotKey(each), found.get(snapshotKey(each)) ?? each)
  return [...found.values()]
}

/** A snapshot with those that were taken with it, also where the backup has no use for them: whoever had the group taken has all of it. */
export function withGroupMembers(snapshot: StoredSnapshot): StoredSnapshot[] {
  const { driver, secret, group, handle } = snapshot
  const others = group?.members.filter(each => each !== handle) ?? []
  return [snapshot, ...others.map(each => ({ driver, handle: each, contentUid: '', secret, group }))]
}

/** Snapshots that were taken together and go together. */
export interface StoredGroup {
  driver: string
  handle: string
  members: StoredSnapshot[]
  /** Of all members, as far as they are known, each once. */
  handles: string[]
}

/** The groups among snapshots. A group was taken for the backup and goes with it: drivers need not be able to delete members one by one. */
export function storedGroups(snapshots: readonly StoredSnapshot[]): StoredGroup[] {
  const taken = snapshots.filter(({ group }) => group !== undefined)
  const byGroup = Map.groupBy(taken, ({ driver, group }) => JSON.stringify([driver, group?.handle]))
  return [...byGroup.values()].flatMap(members => {
    const [first] = members
    const handles = members.flatMap(each => [...(each.group?.members ?? []), each.handle])
    if (first?.group === undefined) return []
    return [{ driver: first.driver, handle: first.group.handle, members, handles: [...new Set(handles)] }]
  })
}

/** What a snapshot is known by. */
export function snapshotKey({ driver, handle }: Pick<StoredSnapshot, 'driver' | 'handle'>): string {
  return `${driver}/${handle}`
}

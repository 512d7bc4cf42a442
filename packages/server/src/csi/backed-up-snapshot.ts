import { annotationNames } from '@lateen/api'
import type { ActionItem, BackedUpObjects } from '@lateen/plugin'
import { snapshotGroup, type VolumeSnapshot, type VolumeSnapshotContent } from './snapshot-kinds.ts'

/** A snapshot of a backup that no volume can be made from. */
export class BackedUpSnapshotError extends Error {
  override readonly name = 'BackedUpSnapshotError'
  readonly code: 'SNAPSHOT_NOT_IN_BACKUP' | 'SNAPSHOT_WITHOUT_CONTENT' | 'SNAPSHOT_WITHOUT_HANDLE'
  readonly hint: string

  constructor(code: BackedUpSnapshotError['code'], message: string, hint: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

/** What stands for one snapshot in a backup. */
export interface BackedUpSnapshot {
  snapshot: VolumeSnapshot
  /** Undefined in backups where the snapshot itself says what matters of it, as Velero's do up to 1.15. */
  content: VolumeSnapshotContent | undefined
  driver: string
  /** How the storage system calls it. */
  handle: string
}

const restoreOtherwise =
  'its data cannot be restored from this backup: take another, or restore without volumes (--restore-volumes=false)'

/** The snapshot with its content. Throws BackedUpSnapshotError when there is nothing to make a volume from. */
export async function readBackedUpSnapshot(
  { namespace, name }: { namespace: string; name: string },
  backedUp: BackedUpObjects,
): Promise<BackedUpSnapshot> {
  const found = await backedUp.read({ group: snapshotGroup, resource: 'volumesnapshots', namespace, name })
  if (found === undefined) {
    const message = `the VolumeSnapshot ${namespace}/${name} is not in the backup`
    throw new BackedUpSnapshotError('SNAPSHOT_NOT_IN_BACKUP', message, restoreOtherwise)
  }
  const snapshot = asSnapshot(found)
  return { snapshot, ...(await readContentOf(snapshot, backedUp)) }
}

/** What a snapshot of the backup was bound to. Throws BackedUpSnapshotError. */
export async function readContentOf(
  snapshot: VolumeSnapshot,
  backedUp: BackedUpObjects,
): Promise<Omit<BackedUpSnapshot, 'snapshot'>> {
  const { metadata, spec, status } = snapshot
  const name = status?.boundVolumeSnapshotContentName ?? spec.source.volumeSnapshotContentName
  const content = await findContent(snapshot, name, backedUp)
  if (content !== undefined) return { content, driver: content.spec.driver, handle: handleOf(content) }
  const driver = metadata.annotations?.[annotationNames.csiDriverName]
  const handle = metadata.annotations?.[annotationNames.volumeSnapshotHandle]
  if (driver && handle) return { content, driver, handle }
  const message = name
    ? `the VolumeSnapshotContent ${name} of the VolumeSnapshot ${metadata.namespace}/${metadata.name} is not in the backup`
    : `VS ${metadata.name} doesn't have bound VSC`
  throw new BackedUpSnapshotError('SNAPSHOT_WITHOUT_CONTENT', message, restoreOtherwise)
}

/** By the name that the snapshot has for it, or as the one that refers to the snapshot. */
async function findContent(
  { metadata }: VolumeSnapshot,
  name: string | undefined,
  backedUp: BackedUpObjects,
): Promise<VolumeSnapshotContent | undefined> {
  if (name) {
    const id = { group: snapshotGroup, resource: 'volumesnapshotcontents', namespace: '', name }
    const found = await backedUp.read(id)
    return found && asContent(found)
  }
  const { bySnapshot } = await relationsIn(backedUp)
  return bySnapshot.get(`${metadata.namespace}/${metadata.name}`)
}

/** How the storage system calls the snapshot of a content. Throws BackedUpSnapshotError. */
export function handleOf({ metadata, spec, status }: VolumeSnapshotContent): string {
  // Contents that were themselves made for a handle may not have got a status yet.
  const handle = status?.snapshotHandle || spec.source.snapshotHandle
  if (handle) return handle
  const message = `fail to get snapshot handle from VSC ${metadata.name} status`
  throw new BackedUpSnapshotError('SNAPSHOT_WITHOUT_HANDLE', message, restoreOtherwise)
}

/**
 * The snapshot of the backup that was bound to a content. Contents that Velero left in clusters up to its version 1.15 no longer refer to
 * theirs, but theirs still name them.
 */
export async function readSnapshotOf(
  { metadata, spec }: VolumeSnapshotContent,
  backedUp: BackedUpObjects,
): Promise<VolumeSnapshot | undefined> {
  const { namespace = '', name = '' } = spec.volumeSnapshotRef
  const referred = await backedUp.read({ group: snapshotGroup, resource: 'volumesnapshots', namespace, name })
  if (referred !== undefined) return asSnapshot(referred)
  return (await relationsIn(backedUp)).byContent.get(metadata.name ?? '')
}

/** Which snapshots and contents of a backup say that they belong together. */
interface Relations {
  /** By the name of the content. */
  byContent: Map<string, VolumeSnapshot>
  /** By `namespace/name` of the snapshot. */
  bySnapshot: Map<string, VolumeSnapshotContent>
}

const known = new WeakMap<BackedUpObjects, Promise<Relations>>()

/** Read once for each backup. */
function relationsIn(backedUp: BackedUpObjects): Promise<Relations> {
  const before = known.get(backedUp)
  if (before !== undefined) return before
  const reading = readRelations(backedUp)
  known.set(backedUp, reading)
  return reading
}

async function readRelations(backedUp: BackedUpObjects): Promise<Relations> {
  const relations: Relations = { byContent: new Map(), bySnapshot: new Map() }
  for await (const each of backedUp.list({ group: snapshotGroup, resource: 'volumesnapshots' })) {
    const snapshot = asSnapshot(each)
    const content = snapshot.status?.boundVolumeSnapshotContentName
    if (content) relations.byContent.set(content, snapshot)
  }
  for await (const each of backedUp.list({ group: snapshotGroup, resource: 'volumesnapshotcontents' })) {
    const content = asContent(each)
    const { namespace, name } = content.spec.volumeSnapshotRef
    relations.bySnapshot.set(`${namespace}/${name}`, content)
  }
  return relations
}

export function asSnapshot(item: ActionItem): VolumeSnapshot {
  return item as unknown as VolumeSnapshot
}

export function asContent(item: ActionItem): VolumeSnapshotContent {
  return item as unknown as VolumeSnapshotContent
}

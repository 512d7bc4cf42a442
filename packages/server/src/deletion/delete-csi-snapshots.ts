import { isCsiServed } from '../csi/csi-served.ts'
import { deleteStoredGroup, deleteStoredSnapshot } from '../csi/delete-stored-snapshot.ts'
import { discardSnapshotsOf } from '../csi/discard-snapshots-of.ts'
import { eachAtOnce } from '../csi/each-at-once.ts'
import { VolumeGroupSnapshotContentKind } from '../csi/group-snapshot-kinds.ts'
import { keptContents, removeKeptContent, snapshotsGone } from '../csi/live-snapshots.ts'
import { resourceTimeoutOf } from '../csi/resource-timeout.ts'
import { snapshotGroup, VolumeSnapshotClassKind } from '../csi/snapshot-kinds.ts'
import { type StoredGroup, type StoredSnapshot, snapshotKey, storedGroups } from '../csi/stored-snapshot.ts'
import { messageOf } from '../item/item-error.ts'
import type { DeletionScope } from './deletion-step.ts'

/**
 * Deletes the snapshots of a backup, each from the storage: those that its files tell of, those of a backup that did not come to its
 * end, and what older versions of Velero left in the cluster of either. Returns what could not be deleted. Throws KubeErrors, and the
 * signal's reason.
 */
export async function deleteCsiSnapshots(
  snapshots: readonly StoredSnapshot[],
  scope: DeletionScope,
): Promise<string[]> {
  const { backup, log } = scope
  if (!(await isServed(scope, snapshots.length > 0))) {
    return snapshots.length === 0 ? [] : [notServed(snapshots.length)]
  }
  const { timeoutMs, problem } = resourceTimeoutOf(backup, scope.resourceTimeoutMs)
  if (problem !== undefined) log.warn({ backup: backup.metadata.name, problem }, 'a timeout cannot be read')
  const run: Run = { ...scope, timeoutMs, done: new Set(), failed: new Map() }
  await noting(undefined, () => discardOwn(run), run)
  if (snapshots.length === 0) return [...run.failed.values()]
  log.info({ backup: backup.metadata.name, snapshots: snapshots.length }, 'CSI snapshots are deleted')
  await eachAtOnce(await keptContents(backup, snapshots, scope), kept =>
    noting(undefined, () => removeKeptContent(kept, timeoutMs, run), run),
  )
  await eachAtOnce(await groupsOf(snapshots, run), group => deleteGroup(group, run))
  const drivers = await driversOfClasses(run)
  await eachAtOnce(snapshots, each => noting(each, () => deleteOne(each, drivers, run), run))
  return [...run.failed.values()]
}

interface Run extends DeletionScope {
  timeoutMs: number
  /** Snapshots that went with their groups. */
  done: Set<string>
  /** What went wrong, by what it went wrong with. */
  failed: Map<string, string>
}

async function isServed({ client, signal }: DeletionScope, isNeeded: boolean): Promise<boolean> {
  if (await isCsiServed(client.discovery, signal)) return true
  if (!isNeeded) return false
  await client.discovery.refresh({ signal })
  return await isCsiServed(client.discovery, signal)
}

function notServed(count: number): string {
  return `${count} CSI snapshots cannot be deleted: this cluster does not serve ${snapshotGroup}/v1. Install the CSI snapshot controller and the driver, or delete the backup in a cluster that has them`
}

/** Those that the backup took and that are still in the cluster: it did not come to its end, or could not clean up. */
async function discardOwn(run: Run): Promise<void> {
  const { backup, timeoutMs } = run
  await discardSnapshotsOf(backup, run)
  await snapshotsGone(backup, timeoutMs, run)
}

/** None where the cluster knows of no groups: then members go one by one. */
async function groupsOf(snapshots: readonly StoredSnapshot[], run: Run): Promise<StoredGroup[]> {
  const groups = storedGroups(snapshots)
  if (groups.length === 0) return []
  const { kind, group, version } = VolumeGroupSnapshotContentKind
  const { client, signal } = run
  const served = await client.discovery.findKind({ kind, group, version }, { signal })
  return served === undefined ? [] : groups
}

/** A driver that cannot delete a group may be able to delete its members. */
async function deleteGroup(group: StoredGroup, run: Run): Promise<void> {
  const { log, signal, done } = run
  try {
    await deleteStoredGroup(group, run, run)
    for (const member of group.members) done.add(snapshotKey(member))
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ error, group: group.handle }, 'a group of snapshots is deleted one by one')
  }
}

async function deleteOne(
  snapshot: StoredSnapshot,
  drivers: ReadonlyMap<string, string>,
  run: Run,
): Promise<void> {
  if (run.done.has(snapshotKey(snapshot))) return
  const { backup, timeoutMs } = run
  const isHere = drivers.get(snapshot.className ?? '') === snapshot.driver
  const className = isHere ? snapshot.className : undefined
  await deleteStoredSnapshot(snapshot, { backup, className, timeoutMs }, run)
}

/** By the classes that are in the cluster. */
async function driversOfClasses({ client, signal }: DeletionScope): Promise<ReadonlyMap<string, string>> {
  const classes = await client.resource(VolumeSnapshotClassKind).list({ signal }).toArray()
  return new Map(classes.map(({ metadata, driver }) => [metadata.name ?? '', driver]))
}

/** What cannot be deleted is no reason to leave the others. */
async function noting(
  snapshot: StoredSnapshot | undefined,
  work: () => Promise<void>,
  { failed, signal }: Run,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    signal.throwIfAborted()
    const key = snapshot === undefined ? `object ${failed.size}` : snapshotKey(snapshot)
    failed.set(key, `error deleting CSI snapshot: ${messageOf(error)}`)
  }
}

import {
  type Backup,
  BackupKind,
  type BackupStorageLocation,
  type PodVolumeBackup,
  PodVolumeBackupKind,
} from '@lateen/api'
import {
  type Clock,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  type KubeClient,
  KubeError,
  type Logger,
  unlessNotFound,
} from '@lateen/kube'
import { isObjectStoreError } from '@lateen/plugin'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { BackupFile } from '../backup-store/bucket-layout.ts'
import { type VolumeSnapshotClass, VolumeSnapshotClassKind } from '../csi/snapshot-kinds.ts'
import { decideName } from './decide-name.ts'
import { eachOf } from './each-of.ts'
import { goesWithFolder } from './orphans.ts'
import { syncedAnnotation } from './synced-annotation.ts'
import { syncedBackup, withSyncedState } from './synced-backup.ts'
import { classesIn } from './synced-classes.ts'
import { syncedVolume, volumesIn } from './synced-volumes.ts'
import type { ToldProblems } from './told-problems.ts'

/** What a sync knows about the cluster, as it is at the moment of asking. */
export interface SyncView {
  backups(): readonly Backup[]
  backup(name: string): Backup | undefined
  isDeletionRequested(name: string): boolean
  scheduleUid(name: string): string | undefined
  /** Whether the location is still the one whose bucket is looked at. */
  isLocationCurrent(): boolean
}

export interface SyncScope {
  location: BackupStorageLocation
  client: KubeClient
  store: BackupStore
  view: SyncView
  problems: ToldProblems
  clock: Clock
  log: Logger
  signal: AbortSignal
}

/** What a sync has done. */
export interface SyncCounts {
  found: number
  created: number
  removed: number
}

/** Backups that are read at the same time. */
const READS_AT_ONCE = 16

/** A store that fails this often in one sync is down; one or two files may be bad. */
const MOST_STORE_FAILURES = 3

/**
 * Makes the backups of the cluster those of the bucket: what others put there becomes an object, what others deleted goes. The bucket is
 * listed once, as it comes; nothing is removed unless that came to its end. Throws `ObjectStoreError` and KubeErrors.
 */
export async function syncLocation(scope: SyncScope): Promise<SyncCounts> {
  const { store, view, problems, signal } = scope
  const run: Run = { ...scope, name: scope.location.metadata.name ?? '', storeFailures: 0 }
  const counts = { found: 0, created: 0, removed: 0 }
  problems.begin()
  // Those that end while the bucket is listed may have got their folder behind the listing's back.
  const unseen = new Map(orphansUnlessSeen(run).map(backup => [backup.metadata.name ?? '', backup]))
  await eachOf(store.names(signal), READS_AT_ONCE, async name => {
    counts.found += 1
    unseen.delete(name)
    if (!view.isLocationCurrent()) return
    if (await syncName(name, run)) counts.created += 1
  })
  for (const backup of unseen.values()) if (await removeOrphan(backup, run)) counts.removed += 1
  problems.end()
  return counts
}

interface Run extends SyncScope {
  name: string
  storeFailures: number
}

function orphansUnlessSeen({ view, name }: Run): Backup[] {
  return view.backups().filter(backup => goesWithFolder(backup, name))
}

/** Whether the backup is now in the cluster and was not before. */
async function syncName(backup: string, run: Run): Promise<boolean> {
  const { view, name: location, problems } = run
  const isDeletionRequested = view.isDeletionRequested(backup)
  const step = decideName({ location, backup: view.backup(backup), isDeletionRequested })
  try {
    switch (step.type) {
      case 'leave':
        return false
      case 'conflict': {
        const reason = `the cluster has a backup of this name in location ${JSON.stringify(step.with)}`
        problems.add({ backup, reason })
        return false
      }
      case 'complete':
        await complete(step.backup, await readBelongings(step.backup, run), run)
        return false
      case 'read':
        return await syncFolder(backup, run)
    }
  } catch (error) {
    if (run.signal.aborted || !isObjectStoreError(error)) throw error
    if (error.retryable && ++run.storeFailures >= MOST_STORE_FAILURES) throw error
    problems.add({ backup, reason: error.message })
    return false
  }
}

/** The cluster is asked before the bucket: a deletion takes `velero-backup.json` away before the object. */
async function syncFolder(name: string, run: Run): Promise<boolean> {
  const { store, view, clock, problems, signal } = run
  const stored = await store.getMetadata(name, signal)
  if (stored === undefined) return false
  const { namespace = '' } = run.location.metadata
  const place = { name, namespace, location: run.name }
  const read = syncedBackup(stored, { ...place, scheduleUid: view.scheduleUid, now: clock.now() })
  if (read.type === 'refuse') problems.add({ backup: name, reason: read.reason })
  if (read.type !== 'create') return false
  const belongings = await readBelongings(read.backup, run)
  const hasMore = belongings.volumes.length + belongings.classes.length > 0
  const created = await create(hasMore ? withSyncedState(read.backup, 'without-volumes') : read.backup, run)
  if (created === undefined) return false
  run.log.info(
    { backup: name, location: run.name, phase: created.status?.phase },
    'backup found in the bucket',
  )
  if (hasMore) await complete(created, belongings, run)
  return true
}

async function create(backup: Backup, { client, problems, signal }: Run): Promise<Backup | undefined> {
  const { name = '', namespace } = backup.metadata
  try {
    return await client.resource(BackupKind, namespace).create(backup, { signal })
  } catch (error) {
    if (isAlreadyExists(error)) return undefined
    if (!isRefused(error)) throw error
    problems.add({ backup: name, reason: error.message })
    return undefined
  }
}

/** What comes with a backup. */
interface Belongings {
  volumes: PodVolumeBackup[]
  classes: VolumeSnapshotClass[]
}

async function readBelongings({ metadata, status }: Backup, run: Run): Promise<Belongings> {
  const { name = '' } = metadata
  const { volumes = [] } = await readFile('podVolumeBackups', name, { run, read: volumesIn })
  if ((status?.csiVolumeSnapshotsAttempted ?? 0) === 0) return { volumes, classes: [] }
  const { classes = [] } = await readFile('csiVolumeSnapshotClasses', name, { run, read: classesIn })
  return { volumes, classes }
}

/** A file that is damaged does not keep the backup away: it has more than that. */
async function readFile<T extends { problems: readonly string[] }>(
  file: BackupFile,
  name: string,
  { run, read }: { run: Run; read: (stored: unknown) => T },
): Promise<Partial<T>> {
  const { store, problems, signal } = run
  try {
    const found = read(await store.getJson({ of: 'backup', name, file }, signal))
    if (found.problems.length > 0) problems.add({ backup: name, reason: found.problems.join('; ') })
    return found
  } catch (error) {
    if (!isObjectStoreError(error) || error.retryable) throw error
    problems.add({ backup: name, reason: error.message })
    return {}
  }
}

/** Creates what belongs to a backup that is in the cluster, and notes that it is there. */
async function complete(backup: Backup, { volumes, classes }: Belongings, run: Run): Promise<void> {
  const { client, name: location, signal } = run
  const { name = '', namespace, uid } = backup.metadata
  for (const volume of volumes) await createVolume(syncedVolume(volume, backup, location), name, run)
  for (const each of classes) await createClass(each, name, run)
  const body = { metadata: { uid, annotations: { [syncedAnnotation]: 'true' } } }
  await client
    .resource(BackupKind, namespace)
    .patch(name, { type: 'merge', body }, { signal })
    .catch(unlessNotFound)
}

/** The deletion of a snapshot may need its class. One that is here stays as it is; a cluster that has no classes needs none. */
async function createClass(snapshotClass: VolumeSnapshotClass, backup: string, run: Run): Promise<void> {
  const { client, problems, signal } = run
  try {
    await client.resource(VolumeSnapshotClassKind).create(snapshotClass, { signal })
  } catch (error) {
    if (isAlreadyExists(error) || isNotFound(error)) return
    if (!isRefused(error) && !isForbidden(error)) throw error
    problems.add({ backup, reason: messageOf(error) })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function createVolume(volume: PodVolumeBackup, backup: string, run: Run): Promise<void> {
  const { client, problems, signal } = run
  try {
    await client.resource(PodVolumeBackupKind, volume.metadata.namespace).create(volume, { signal })
  } catch (error) {
    if (isAlreadyExists(error)) return
    if (!isRefused(error)) throw error
    problems.add({ backup, reason: error.message })
  }
}

/** By status: it is no such object, it is too large, it is not valid. */
const refusals: ReadonlySet<number | undefined> = new Set([400, 413, 422])

/** Whether the API server will not have this object, whoever sends it and when: others of the bucket must not wait for it. */
function isRefused(error: unknown): error is KubeError {
  if (!(error instanceof KubeError)) return false
  if (refusals.has(error.status)) return true
  // What etcd, or the client of it, finds too large comes as a fault of the server.
  return error.status === 500 && /request is too large|larger than max/.test(error.message)
}

/** Asks the bucket for this one folder: a listing may have been short without saying so. */
async function removeOrphan(listed: Backup, run: Run): Promise<boolean> {
  const { client, store, view, log, signal } = run
  const name = listed.metadata.name ?? ''
  const backup = view.backup(name)
  const isSame = backup?.metadata.uid === listed.metadata.uid
  if (backup === undefined || !isSame || !goesWithFolder(backup, run.name)) return false
  if (!view.isLocationCurrent() || (await store.hasAny(name, signal))) return false
  const { namespace, uid, resourceVersion } = backup.metadata
  try {
    const preconditions = { uid, resourceVersion }
    await client.resource(BackupKind, namespace).delete(name, { preconditions, signal })
  } catch (error) {
    // Somebody was faster, or has changed it: the next look tells.
    if (isNotFound(error) || isConflict(error)) return false
    throw error
  }
  log.info({ backup: name, location: run.name }, 'backup removed that is gone from the bucket')
  return true
}

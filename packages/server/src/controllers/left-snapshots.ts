import { type Backup, labelNames } from '@lateen/api'
import {
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  type KubeObject,
  keyOf,
  noneIfUnseen,
  type Outcome,
  periodically,
  type ReconcileContext,
  type ResourceType,
  watching,
} from '@lateen/kube'
import { archivedSnapshots } from '../backup/finalize/archived-snapshots.ts'
import { archiveUnknown, hasSnapshotOf, removeSnapshots } from '../backup/finalize/clean-up-snapshots.ts'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { isGroupOf } from '../csi/backup-groups.ts'
import { areGroupsServed, isCsiServed } from '../csi/csi-served.ts'
import { discardSnapshotsOf } from '../csi/discard-snapshots-of.ts'
import { groupHandlesAnnotation } from '../csi/group-members.ts'
import { VolumeGroupSnapshotContentKind, VolumeGroupSnapshotKind } from '../csi/group-snapshot-kinds.ts'
import { isGoing } from '../csi/is-going.ts'
import { orphanContents, removeOrphan } from '../csi/orphan-contents.ts'
import {
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from '../csi/snapshot-kinds.ts'
import { isAnother } from '../deletion/another-backup.ts'
import type { StuckGauge } from '../metrics/stuck-gauge.ts'
import { hasEnded, type LeftSnapshot, leftFindings, leftSnapshots } from '../watchdog/left-snapshots.ts'
import type { BusyKeys } from './busy-keys.ts'
import type { LatestObjects } from './latest-objects.ts'
import { storageLocationOf } from './location-of-backup.ts'
import { longestMessage, recordEvent } from './record-event.ts'

export interface LeftSnapshotsOptions {
  client: KubeClient
  clock: Clock
  random: () => number
  ports: LocationPorts
  gauge: StuckGauge
  informer: Informer<Backup>
  backups: LatestObjects<Backup>
  /** Keys of the backups that are worked on. */
  busy: BusyKeys
}

const EVERY_MS = 60_000

const all = () => ['snapshots']

/**
 * Contents have no labels to be found by: all of the cluster are looked at, and not each time. After a round that has removed snapshots they are, for a
 * snapshot controller that is late may have made the content of one of them.
 */
const CONTENTS_EVERY = 10

/**
 * Removes objects of snapshots that backups left in the cluster when they ended, because something was in the way: that, or a server that died. What
 * cannot be removed is told: once by log and event, and by a metric as long as it lasts.
 */
export function leftSnapshotsController(options: LeftSnapshotsOptions): ControllerOptions {
  let told = new Set<string>()
  let rounds = 0
  let hasRemoved = false

  async function reconcile(_key: string, context: ReconcileContext): Promise<Outcome> {
    const scope = { ...options, ...context }
    const found = await findLeft(scope)
    const withGroups = await backupsWithGroups(scope)
    for (const backup of new Set([...found.map(each => each.backup), ...withGroups]))
      await removeLeft(backup, scope)
    if (rounds % CONTENTS_EVERY === 0 || hasRemoved) await removeOrphans(scope)
    rounds += 1
    const left = found.length === 0 ? [] : await findLeft(scope)
    hasRemoved = left.length < found.length
    options.gauge.set(
      'snapshots',
      left.map(({ snapshot }) => ({ kind: snapshot.kind ?? '', phase: 'Left' })),
    )
    const isNew = ({ snapshot }: LeftSnapshot) => !told.has(snapshot.metadata.uid ?? '')
    for (const [backup, ofBackup] of Map.groupBy(left, each => each.backup)) {
      if (ofBackup.some(isNew)) await tell(backup, ofBackup, scope)
    }
    told = new Set(left.map(({ snapshot }) => snapshot.metadata.uid ?? ''))
    return done()
  }

  return {
    name: 'left-snapshots',
    sources: [
      watching({
        informer: options.informer,
        predicate: event => event.type !== 'deleted' && hasEnded(event.object),
        toKeys: all,
      }),
      periodically({ everyMs: EVERY_MS, keys: all }),
    ],
    reconcile,
  }
}

type Scope = LeftSnapshotsOptions & ReconcileContext

async function findLeft(scope: Scope): Promise<LeftSnapshot[]> {
  const { client, backups, busy, signal } = scope
  if (!(await isCsiServed(client.discovery, signal))) return []
  const present = await labelled(VolumeSnapshotKind, scope)
  return leftSnapshots(present, backups.list()).filter(({ backup }) => !busy.has(keyOf(backup)))
}

/**
 * The backups that left groups: one that the driver never completed has no snapshots to be found by, and of one that is half removed there
 * may be contents alone.
 */
async function backupsWithGroups(scope: Scope): Promise<Backup[]> {
  const { client, backups, busy, signal } = scope
  if (!(await areGroupsServed(client.discovery, signal))) return []
  const groups = await labelled(VolumeGroupSnapshotKind, scope)
  const contents = await labelled(VolumeSnapshotContentKind, scope)
  const remains = [
    ...(await labelled(VolumeGroupSnapshotContentKind, scope)),
    ...contents.filter(({ metadata }) => metadata.annotations?.[groupHandlesAnnotation]),
  ]
  const uids = new Set(remains.map(({ metadata }) => metadata.labels?.[labelNames.backupUid]))
  return backups
    .list()
    .filter(backup => hasEnded(backup) && !busy.has(keyOf(backup)))
    .filter(({ metadata: { uid = '' } }) => uids.has(uid) || groups.some(group => isGroupOf(group, uid)))
}

/** What has the label of backups, without what is going already. */
async function labelled<T extends KubeObject>(
  kind: ResourceType<T>,
  { client, signal }: Scope,
): Promise<T[]> {
  const found = await client
    .resource(kind)
    .list({ labelSelector: labelNames.backupUid, signal })
    .toArray()
    .catch(noneIfUnseen)
  return found.filter(each => !isGoing(each))
}

async function removeLeft(backup: Backup, scope: Scope): Promise<void> {
  const { log, signal } = scope
  try {
    if (backup.status?.phase === 'Failed') return await discardSnapshotsOf(backup, scope)
    await withStore(backup, scope, store => removeSnapshots({ backup, store }, scope, signal))
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ error, backup: backup.metadata.name }, 'snapshots that a backup left cannot be removed yet')
  }
}

/**
 * Does nothing where the location of the backup is not there. Throws CsiError ARCHIVE_UNKNOWN where the bucket does not have this very backup, as after
 * its location was pointed to another one: what a backup of the same name has there says nothing.
 */
async function withStore(
  backup: Backup,
  scope: Scope,
  use: (store: BackupStore) => Promise<unknown>,
): Promise<void> {
  const { clock, random, ports, signal } = scope
  const location = await storageLocationOf(backup, scope)
  if (location === undefined) return
  await using opened = await openLocation(location, ports, signal)
  const store = createBackupStore({ location: opened, clock, random })
  const stored = await store.getMetadata(backup.metadata.name ?? '', signal)
  if (stored === undefined || isAnother(backup, stored)) throw archiveUnknown()
  await use(store)
}

/** Contents that a class retains stay when somebody deletes their snapshots. */
async function removeOrphans(scope: Scope): Promise<void> {
  const { client, backups, busy, log, signal } = scope
  if (!(await isCsiServed(client.discovery, signal))) return
  const ended = backups.list().filter(backup => hasEnded(backup) && !busy.has(keyOf(backup)))
  const byUid = new Map(ended.map(backup => [backup.metadata.uid ?? '', backup]))
  const found = await orphanContents([...byUid.keys()], { client, signal }).catch(noneIfUnseen)
  for (const { content, backupUid } of found) {
    const backup = byUid.get(backupUid)
    if (backup === undefined) continue
    try {
      await removeOrphanOf(backup, content, scope)
    } catch (error) {
      signal.throwIfAborted()
      const { name } = content.metadata
      log.warn(
        { error, backup: backup.metadata.name, content: name },
        'a content that a backup left cannot be removed yet',
      )
    }
  }
}

async function removeOrphanOf(backup: Backup, content: VolumeSnapshotContent, scope: Scope): Promise<void> {
  const { client, signal } = scope
  if (backup.status?.phase === 'Failed') return removeOrphan(content, false, { client, signal })
  await withStore(backup, scope, async store => {
    const archived = await archivedSnapshots({ backup, store, signal })
    if (archived === undefined) throw archiveUnknown()
    await removeOrphan(content, hasSnapshotOf(content, archived), { client, signal })
  })
}

async function tell(backup: Backup, left: readonly LeftSnapshot[], scope: Scope): Promise<void> {
  const { client, clock, log, signal } = scope
  for (const { problem, mend, subject } of leftFindings(left)) {
    log.warn({ backup: backup.metadata.name, subject }, 'a snapshot is left in the cluster')
    const whole = `${subject} ${problem}. To mend it: ${mend}`
    const message =
      whole.length <= longestMessage ? whole : `${subject} ${problem}. lateen doctor shows how to mend it`
    await recordEvent(
      { about: backup, type: 'Warning', reason: 'SnapshotLeft', message },
      { client, clock, log, signal },
    )
  }
}

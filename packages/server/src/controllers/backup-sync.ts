import { isDeepStrictEqual } from 'node:util'
import {
  type Backup,
  type BackupStorageLocation,
  BackupStorageLocationKind,
  type DeleteBackupRequest,
  formatTime,
  type Schedule,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  isConflict,
  isNotFound,
  type KubeClient,
  type ObjectEvent,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { isOpenRequest } from '../sync/decide-name.ts'
import { nextSync } from '../sync/next-sync.ts'
import { type SyncView, syncLocation } from '../sync/sync-location.ts'
import { ToldProblems } from '../sync/told-problems.ts'
import { recordEvent } from './record-event.ts'

export interface BackupSyncOptions {
  client: KubeClient
  locations: Informer<BackupStorageLocation>
  backups: Informer<Backup>
  schedules: Informer<Schedule>
  requests: Informer<DeleteBackupRequest>
  clock: Clock
  random: () => number
  ports: LocationPorts
  /** How often the bucket of a location is looked at that does not say; 0 turns it off. */
  syncPeriodMs: number
}

/** Clocks are set, and machines sleep: nobody waits longer than this without a look at the time. */
const LONGEST_WAIT_MS = 60_000

/** A bucket that is slow does not keep others from being looked at. */
const CONCURRENCY = 4

const requestIndex = 'sync-backup-name'

/** Shows the backups that are in the buckets of the locations, whoever put them there. */
export function backupSyncController(options: BackupSyncOptions): ControllerOptions {
  const { locations, requests, clock } = options
  const told = new Map<string, ToldProblems>()
  requests.addIndexes({ [requestIndex]: ({ spec }) => [spec.backupName] })

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const location = locations.get(key)
    if (location === undefined) {
      told.delete(key)
      return done()
    }
    const step = nextSync({ location, now: clock.now(), serverPeriodMs: options.syncPeriodMs })
    if (step.type === 'rest') return done()
    if (step.type === 'wait') return again({ afterMs: Math.min(LONGEST_WAIT_MS, step.afterMs) })
    const problems = told.get(key) ?? new ToldProblems()
    told.set(key, problems)
    await sync(location, problems, { ...options, ...context })
    return again({ afterMs: Math.min(LONGEST_WAIT_MS, step.periodMs) })
  }

  return {
    name: 'backup-sync',
    sources: [watching({ informer: locations, predicate: concernsSync })],
    reconcile,
    concurrency: CONCURRENCY,
  }
}

/** Status has no subresource: every validation and every sync is an update. */
export function concernsSync(event: ObjectEvent<BackupStorageLocation>): boolean {
  if (event.type !== 'updated') return true
  const { object, previous } = event
  return object.status?.phase !== previous.status?.phase || !isDeepStrictEqual(object.spec, previous.spec)
}

type Scope = BackupSyncOptions & ReconcileContext

async function sync(location: BackupStorageLocation, problems: ToldProblems, scope: Scope): Promise<void> {
  const { client, clock, random, ports, log, signal } = scope
  const { name } = location.metadata
  try {
    await using open = await openLocation(location, ports, signal)
    const store = createBackupStore({ location: open, clock, random })
    const view = viewOf(location, scope)
    const counts = await syncLocation({ location, client, store, view, problems, clock, log, signal })
    const fields = { location: name, ...counts }
    if (counts.created + counts.removed > 0) log.info(fields, 'backups are those of the bucket')
    else log.debug(fields, 'backups are those of the bucket')
  } finally {
    await tell(location, problems, scope)
  }
  await noteTime(location, scope)
}

function viewOf(location: BackupStorageLocation, scope: Scope): SyncView {
  const { locations, backups, schedules, requests } = scope
  const { namespace = '', name: locationName = '', uid } = location.metadata
  return {
    backups: () => backups.list(),
    backup: name => backups.get({ namespace, name }),
    isDeletionRequested: name => requests.byIndex(requestIndex, name).some(isOpenRequest),
    scheduleUid: name => schedules.get({ namespace, name })?.metadata.uid,
    isLocationCurrent() {
      const now = locations.get({ namespace, name: locationName })
      return now?.metadata.uid === uid && isDeepStrictEqual(now?.spec, location.spec)
    },
  }
}

/** Each thing once, and one event for all of them. */
async function tell(location: BackupStorageLocation, problems: ToldProblems, scope: Scope): Promise<void> {
  const { client, clock, log, signal } = scope
  const news = problems.takeNews()
  if (news.length === 0) return
  for (const { backup, reason } of news) {
    log.warn({ backup, location: location.metadata.name, reason }, 'a backup in the bucket cannot be shown')
  }
  const list = news.map(({ backup, reason }) => `${backup}: ${reason}`).join('; ')
  const message = `${news.length} backups in the bucket cannot be shown: ${list}`
  await recordEvent(
    { about: location, type: 'Warning', reason: 'BackupsNotSynced', message },
    { client, clock, log, signal },
  )
}

async function noteTime({ metadata }: BackupStorageLocation, scope: Scope): Promise<void> {
  const { client, clock, signal } = scope
  const { name = '', namespace, uid } = metadata
  const body = { metadata: { uid }, status: { lastSyncedTime: formatTime(clock.now()) } }
  try {
    await client
      .resource(BackupStorageLocationKind, namespace)
      .patch(name, { type: 'merge', body }, { signal })
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}

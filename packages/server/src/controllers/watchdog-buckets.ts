import { isDeepStrictEqual } from 'node:util'
import { type Backup, BackupKind, type BackupStorageLocation, isTerminal, type Restore } from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  joinKey,
  type KubeClient,
  keyOf,
  type ObjectEvent,
  type Outcome,
  type ReconcileContext,
  splitKey,
  watching,
} from '@lateen/kube'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { hasBegun } from '../deletion/decide-deletion.ts'
import type { StuckGauge } from '../metrics/stuck-gauge.ts'
import {
  type BucketReport,
  bucketOf,
  failedReport,
  lookAnnotation,
  newReport,
  oldUnclaimed,
  parseReport,
  type ReportFacts,
  reportMapName,
} from '../watchdog/bucket-report.ts'
import { nextSurvey, UNCLAIMED_AGE_MS } from '../watchdog/next-survey.ts'
import { surveyBucket } from '../watchdog/survey-bucket.ts'
import type { ClusterView } from '../watchdog/unclaimed.ts'
import { LatestObjects } from './latest-objects.ts'
import { recordEvent } from './record-event.ts'
import { type ReportMap, writeReport } from './report-map.ts'

export interface WatchdogBucketsOptions {
  client: KubeClient
  locations: Informer<BackupStorageLocation>
  /** Of `reportMapSelector`. */
  reports: Informer<ReportMap>
  backups: LatestObjects<Backup>
  restores: Informer<Restore>
  clock: Clock
  random: () => number
  ports: LocationPorts
  gauge: StuckGauge
}

/** Clocks are set, and machines sleep: nobody waits longer than this without a look at the time. */
const LONGEST_WAIT_MS = 60_000

/** A bucket that is slow does not keep others from being looked at. */
const CONCURRENCY = 4

/**
 * Looks through the buckets of the locations for what nothing refers to, now and then and when somebody asks, and reports it in a
 * ConfigMap, because only the server may look there. What is old is told once by log and event, and by a metric as long as it lasts.
 */
export function watchdogBucketsController(options: WatchdogBucketsOptions): ControllerOptions {
  const { locations, reports, clock, gauge } = options
  const maps = new LatestObjects(reports)
  const told = new Map<string, Set<string>>()
  const began = clock.now()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const location = locations.get(key)
    const { namespace, name } = splitKey(key)
    const map = maps.get(joinKey({ namespace, name: reportMapName }))
    const scope = { ...options, ...context, maps, told }
    if (location === undefined) {
      told.delete(key)
      gauge.set(key, [])
      if (map?.data?.[name] !== undefined) await writeReport({ namespace, name }, null, scope)
      return done()
    }
    const bucket = bucketOf(location)
    const last = parseReport(map?.data?.[name])
    const before = last?.bucket === bucket ? last : undefined
    const look = map?.metadata.annotations?.[lookAnnotation]
    const waitMs = nextSurvey({ before, look, began, now: clock.now() })
    if (waitMs > 0) {
      if (before !== undefined) await tell(location, before, scope)
      return again({ afterMs: Math.min(LONGEST_WAIT_MS, waitMs) })
    }
    const report = await survey(location, { before, bucket, look }, scope)
    await writeReport({ namespace, name }, JSON.stringify(report), scope)
    await tell(location, report, scope)
    return again({ afterMs: LONGEST_WAIT_MS })
  }

  const toKeys = () => locations.list().map(keyOf)
  return {
    name: 'watchdog-buckets',
    sources: [
      watching({ informer: locations, predicate: concernsBucket }),
      watching({ informer: reports, predicate: isRequest, toKeys }),
    ],
    reconcile,
    concurrency: CONCURRENCY,
  }
}

/** Status has no subresource: every validation is an update. */
function concernsBucket(event: ObjectEvent<BackupStorageLocation>): boolean {
  return event.type !== 'updated' || !isDeepStrictEqual(event.object.spec, event.previous.spec)
}

function isRequest(event: ObjectEvent<ReportMap>): boolean {
  const look = ({ metadata }: ReportMap) => metadata.annotations?.[lookAnnotation]
  return event.type !== 'updated' || look(event.object) !== look(event.previous)
}

interface Scope extends WatchdogBucketsOptions, ReconcileContext {
  maps: LatestObjects<ReportMap>
  /** By the location's key: what is known to be old. */
  told: Map<string, Set<string>>
}

async function survey(
  location: BackupStorageLocation,
  earlier: Omit<ReportFacts, 'now'>,
  scope: Scope,
): Promise<BucketReport> {
  const { clock, random, ports, log, signal } = scope
  try {
    await using open = await openLocation(location, ports, signal)
    const store = createBackupStore({ location: open, clock, random })
    const found = await surveyBucket({ open, store, view: viewOf(location, scope), signal })
    return newReport(found, { ...earlier, now: clock.now() })
  } catch (error) {
    signal.throwIfAborted()
    const problem = error instanceof Error ? error.message : String(error)
    log.debug({ location: location.metadata.name, problem }, 'a bucket could not be looked through')
    return failedReport(problem, { ...earlier, now: clock.now() })
  }
}

/** A backup that failed before it began has no files: those of its name belong to another. */
function viewOf({ metadata }: BackupStorageLocation, { backups, restores }: Scope): ClusterView {
  const { namespace, name: location } = metadata
  return {
    backup(name) {
      const backup = backups.get(joinKey({ namespace, name }))
      if (backup === undefined || backup.spec.storageLocation !== location) return undefined
      return isTerminal(BackupKind, backup.status?.phase) && !hasBegun(backup) ? undefined : backup
    },
    restore: name => restores.get(joinKey({ namespace, name })),
  }
}

/** Each old thing once, and one event for all that are new. */
async function tell(location: BackupStorageLocation, report: BucketReport, scope: Scope): Promise<void> {
  const { client, clock, gauge, log, signal, told } = scope
  const key = keyOf(location)
  // Files of other clusters' restores are no reason to wake somebody up.
  const old = oldUnclaimed(report, { now: clock.now(), ageMs: UNCLAIMED_AGE_MS }).filter(
    ({ type }) => type !== 'restore-files',
  )
  gauge.set(
    key,
    old.map(({ type }) => ({ kind: 'BucketFolder', phase: type })),
  )
  const known = told.get(key) ?? new Set()
  const news = old.filter(found => !known.has(found.key))
  told.set(key, new Set(old.map(found => found.key)))
  if (news.length === 0) return
  for (const { type, key: folder, firstSeen } of news) {
    log.warn(
      { location: location.metadata.name, type, key: folder, firstSeen },
      'nothing refers to what is in the bucket',
    )
  }
  const list = news.map(found => found.key).join(', ')
  const message = `Nothing refers to ${news.length} things in the bucket, which lateen doctor explains: ${list}`
  await recordEvent(
    { about: location, type: 'Warning', reason: 'UnclaimedKeys', message },
    { client, clock, log, signal },
  )
}

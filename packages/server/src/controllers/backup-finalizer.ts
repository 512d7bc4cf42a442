import {
  type Backup,
  BackupKind,
  type BackupPhase,
  type BackupStatus,
  cancelledByRequest,
  formatTime,
  isCancelRequested,
} from '@lateen/api'
import {
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  type Logger,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { isObjectStoreError } from '@lateen/plugin'
import { cleanUpSnapshots } from '../backup/finalize/clean-up-snapshots.ts'
import { type FinalizePorts, finalizeBackup } from '../backup/finalize/finalize-backup.ts'
import type { PerformPorts } from '../backup/perform-backup.ts'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { isCsiServed } from '../csi/csi-served.ts'
import { discardSnapshotsOf } from '../csi/discard-snapshots-of.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { readOperations } from '../operations/waiting-operations.ts'
import { archiveEntries } from '../restore/archive/archive-entries.ts'
import { ArchiveError } from '../restore/archive/archive-error.ts'
import { releaseName } from './backup-place.ts'
import { CancelWatch } from './cancel-watch.ts'
import type { LatestObjects } from './latest-objects.ts'
import { storageLocationOf } from './location-of-backup.ts'
import { patchInPhase } from './patch-in-phase.ts'
import { recordEvent } from './record-event.ts'

export interface BackupFinalizerOptions {
  client: KubeClient
  informer: Informer<Backup>
  backups: LatestObjects<Backup>
  clock: Clock
  random: () => number
  ports: LocationPorts
  perform: PerformPorts
  /** How long cluster and plugins may fail to answer before a backup ends without what they were asked for. */
  resourceTimeoutMs: number
}

const outcomes: Partial<Record<BackupPhase, 'Completed' | 'PartiallyFailed'>> = {
  Finalizing: 'Completed',
  FinalizingPartiallyFailed: 'PartiallyFailed',
}

/** What finalizing has added. */
export interface FinalizedStatus {
  /** `warnings` and `errors` come on top of those that the backup has; the rest takes the place of what is there. */
  added?: BackupStatus
  cancelled?: boolean
  now: number
}

/** The backup as it is after finalizing, or undefined when it is not being finalized. */
export function finalized(
  backup: Backup,
  { added = {}, cancelled = false, now }: FinalizedStatus,
): Backup | undefined {
  const phase = outcomes[backup.status?.phase ?? 'New']
  if (phase === undefined) return undefined
  const wentWell = (added.errors ?? 0) === 0 && !cancelled
  const warnings = (backup.status?.warnings ?? 0) + (added.warnings ?? 0)
  const errors = (backup.status?.errors ?? 0) + (added.errors ?? 0)
  const status: BackupStatus = {
    ...backup.status,
    ...added,
    phase: wentWell ? phase : 'PartiallyFailed',
    completionTimestamp: formatTime(now),
  }
  Reflect.deleteProperty(status, 'warnings')
  Reflect.deleteProperty(status, 'errors')
  return {
    ...backup,
    status: { ...status, ...(warnings > 0 && { warnings }), ...(errors > 0 && { errors }) },
  }
}

/** Backups that are finalized at the same time: one that waits for a plugin must not hold up the others. */
const CONCURRENCY = 8

/**
 * Ends backups: what operations want stored again, then `velero-backup.json`, then the phase. In this order, because a backup that says
 * Completed must be in the bucket; whoever dies in between begins again and finds nothing in the way.
 */
export function backupFinalizerController(options: BackupFinalizerOptions): ControllerOptions {
  const { informer, backups, clock } = options
  /** When a backup could not be finalized for the first time. */
  const failing = new Map<string, number>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const backup = backups.get(key)
    if (backup === undefined || finalized(backup, { now: clock.now() }) === undefined) {
      failing.delete(key)
      return done()
    }
    const scope = { ...options, ...context, key, failing }
    const location = await storageLocationOf(backup, scope)
    if (location === undefined) {
      await endWithoutLocation(backup, scope)
      return done()
    }
    await using opened = await openLocation(location, options.ports, context.signal)
    const store = createBackupStore({ location: opened, clock, random: options.random })
    await endBackup(backup, store, scope)
    failing.delete(key)
    return done()
  }

  return { name: 'backup-finalizer', sources: [watching({ informer })], reconcile, concurrency: CONCURRENCY }
}

type Scope = BackupFinalizerOptions & ReconcileContext & { key: string; failing: Map<string, number> }

async function endBackup(backup: Backup, store: BackupStore, scope: Scope): Promise<void> {
  const { backups, clock, key, log, signal } = scope
  const finished = await finishOperations(backup, store, scope)
  const added = withWarnings(finished, await removeSnapshotObjects(backup, store, scope))
  const cancelled = isCancelRequested(backups.get(key) ?? backup)
  const ended = finalized(backup, { added, cancelled, now: clock.now() })
  if (ended === undefined) return
  await store.putMetadata(ended, signal)
  if (hadOperations(backup)) await deleteJournal(backup, { store, log, signal })
  await releaseName(backup, { store, log, signal })
  await patchAndTell(backup, { ended, reason: cancelled ? cancelledByRequest : undefined }, scope)
}

/** The file of operations has taken its place: whoever may not delete in the bucket ends the backup all the same. */
async function deleteJournal(
  backup: Backup,
  { store, log, signal }: { store: BackupStore; log: Logger; signal: AbortSignal },
): Promise<void> {
  await store.deleteSegments(ownerOf(backup), signal).catch((error: unknown) => {
    signal.throwIfAborted()
    log.warn({ error, backup: backup.metadata.name }, 'the journal of operations could not be removed')
  })
}

function withWarnings(status: BackupStatus, more: BackupStatus): BackupStatus {
  return { ...status, warnings: (status.warnings ?? 0) + (more.warnings ?? 0) }
}

/** Only when the archive is in the bucket: from then on nothing needs them. */
async function removeSnapshotObjects(
  backup: Backup,
  store: BackupStore,
  scope: Scope,
): Promise<BackupStatus> {
  const { client, perform, log, signal } = scope
  if (!mayHaveSnapshots(backup) || !(await isCsiServed(client.discovery, signal))) return {}
  try {
    return await cleanUpSnapshots({ backup, store }, perform, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!mayGiveUp(error, backup, scope)) throw error
    log.error({ error, backup: backup.metadata.name }, 'objects of snapshots could not be removed')
    return { warnings: 1 }
  }
}

/** The group of a claim that failed because the driver did not complete it is there without any operation. */
function mayHaveSnapshots(backup: Backup): boolean {
  const mayHaveGroups =
    backup.status?.phase === 'FinalizingPartiallyFailed' && !!backup.spec.volumeGroupSnapshotLabelKey
  return hadOperations(backup) || mayHaveGroups
}

/** Its number is in the status from the moment in which the backup is not in progress any more. */
function hadOperations({ status }: Backup): boolean {
  return (status?.backupItemOperationsAttempted ?? 0) > 0
}

function ownerOf({ metadata }: Backup) {
  return { of: 'backup', name: metadata.name ?? '' } as const
}

async function finishOperations(backup: Backup, store: BackupStore, scope: Scope): Promise<BackupStatus> {
  if (!hadOperations(backup)) return {}
  const { clock, backups, key, log, signal } = scope
  try {
    const operations = await readOperations<BackupOperation>(ownerOf(backup), store, signal)
    if (operations === undefined) return withoutFile(backup, 'it is not in the bucket any more', scope)
    // One that was cancelled while it waited is finalized all the same: what its other operations did counts.
    const isNew = !isCancelRequested(backup)
    await using cancel = new CancelWatch({
      clock,
      isRequested: () => isNew && isCancelRequested(backups.get(key) ?? backup),
    })
    const request = { backup, operations, store, cancel: cancel.signal }
    return await finalizeBackup(request, portsOf(scope), signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!mayGiveUp(error, backup, scope)) throw error
    log.error({ error, backup: backup.metadata.name }, 'backup could not be finalized')
    return { errors: 1 }
  }
}

/** Whether a backup has to end without its last steps. A bucket that does not answer is waited for: there is no end without it. */
function mayGiveUp(error: unknown, backup: Backup, scope: Scope): boolean {
  const { clock, failing, key, resourceTimeoutMs } = scope
  if (isObjectStoreError(error) && error.code !== 'STORE_FAULT') return false
  if (isObjectStoreError(error) && error.retryable) return false
  const since = failing.get(key) ?? clock.now()
  failing.set(key, since)
  return isCancelRequested(backup) || clock.now() >= since + resourceTimeoutMs
}

function withoutFile({ metadata }: Backup, reason: string, { log }: Scope): BackupStatus {
  log.error(
    { backup: metadata.name, reason },
    'the operations of a backup are not known: their file is missing',
  )
  return { errors: 1 }
}

function portsOf({ perform }: Scope): FinalizePorts {
  return {
    ...perform,
    archiveEntries: (stream, signal) => archiveEntries(stream, signal),
    isDamage: error => error instanceof ArchiveError,
  }
}

/** There is nowhere to keep the backup: whoever asks for its end gets it, everybody else waits for the location. */
async function endWithoutLocation(backup: Backup, scope: Scope): Promise<void> {
  const { client, clock, log, signal, failures } = scope
  const missing = `the storage location ${backup.spec.storageLocation} does not exist`
  if (isCancelRequested(backup)) {
    await discardSnapshotsOf(backup, scope)
    const failureReason = `${cancelledByRequest}; ${missing}`
    const completionTimestamp = formatTime(clock.now())
    const status: BackupStatus = { ...backup.status, phase: 'Failed', failureReason, completionTimestamp }
    return patchAndTell(backup, { ended: { ...backup, status }, reason: failureReason }, scope)
  }
  if (failures % EVENT_EVERY === 0) {
    const message = `The backup cannot come to its end: ${missing}`
    await recordEvent(
      { about: backup, type: 'Warning', reason: 'BackupLocationMissing', message },
      { client, clock, log, signal },
    )
  }
  throw new Error(`${missing}. Create it again, or cancel the backup`)
}

/** Each failure waits longer than the one before. */
const EVENT_EVERY = 10

async function patchAndTell(
  backup: Backup,
  { ended, reason }: { ended: Backup; reason: string | undefined },
  scope: Scope,
): Promise<void> {
  const { client, backups, clock, log, signal, key } = scope
  const body = { status: ended.status ?? {} }
  const ports = { client, latest: backups, signal }
  const written = await patchInPhase(backup, { kind: BackupKind, body }, ports)
  if (written === undefined) return
  const { phase } = ended.status ?? {}
  log.info({ backup: key, phase, reason }, 'backup ended')
  const type = phase === 'Completed' ? 'Normal' : 'Warning'
  const message = reason === undefined ? `Backup ended: ${phase}` : `Backup ended: ${phase}, ${reason}`
  await recordEvent(
    { about: written, type, reason: `Backup${phase}`, message },
    { client, clock, log, signal },
  )
}

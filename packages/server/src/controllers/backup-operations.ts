import {
  type Backup,
  BackupKind,
  type BackupPhase,
  type BackupStatus,
  cancelledByRequest,
  formatTime,
  isCancelRequested,
  parseTime,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  keyOf,
  type ObjectEvent,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { isObjectStoreError } from '@lateen/plugin'
import type { PerformPorts } from '../backup/perform-backup.ts'
import { askedAtOnce, countsOf, operationPortsOf, operationTimeoutOf } from '../backup/run-operations.ts'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { discardSnapshotsOf } from '../csi/discard-snapshots-of.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { countOperations, pollOperations } from '../operations/poll-operations.ts'
import type { WaitingOperations } from '../operations/waiting-operations.ts'
import { cancelMovesIfPossible } from '../volumes/cancel-moves.ts'
import { DeletedObjects } from './deleted-objects.ts'
import type { EndedMoves } from './ended-moves.ts'
import { removeDeleted } from './fail-interrupted.ts'
import type { LatestObjects } from './latest-objects.ts'
import { storageLocationOf } from './location-of-backup.ts'
import { patchInPhase } from './patch-in-phase.ts'
import { Patience } from './patience.ts'
import { recordEvent } from './record-event.ts'
import { stopBackupOperations } from './stop-backup-operations.ts'

export interface BackupOperationsOptions {
  client: KubeClient
  informer: Informer<Backup>
  backups: LatestObjects<Backup>
  clock: Clock
  random: () => number
  ports: LocationPorts
  perform: Pick<PerformPorts, 'plugins' | 'openSnapshotters'>
  waiting: WaitingOperations<BackupOperation>
  /** How often operations are asked about. */
  everyMs: number
  /** How long it is tried to remove what a deleted backup has left. */
  resourceTimeoutMs: number
  /** Moves of data, which are asked about as soon as they are over. */
  moves?: EndedMoves
}

/** Backups whose operations are asked about at the same time. */
const CONCURRENCY = 4

const isWaiting: ReadonlySet<BackupPhase | undefined> = new Set<BackupPhase>([
  'WaitingForPluginOperations',
  'WaitingForPluginOperationsPartiallyFailed',
])

/** How the operations of a backup stand now. */
export interface BackupRound {
  operations: readonly BackupOperation[]
  completed: number
  failed: number
  unfinished: number
}

/**
 * What the status of a backup that waits says after a round. Failures count once, whoever saw them first: those that the status does
 * not count yet are new errors.
 */
export function statusAfterRound({ status = {} }: Backup, round: BackupRound): BackupStatus {
  const newFailures = Math.max(0, round.failed - (status.backupItemOperationsFailed ?? 0))
  const errors = (status.errors ?? 0) + newFailures
  const partly = status.phase !== 'WaitingForPluginOperations' || newFailures > 0
  return {
    phase: phaseAfterRound(partly, round.unfinished),
    ...(errors > 0 && { errors }),
    ...countsOf(round),
  }
}

function phaseAfterRound(partly: boolean, unfinished: number): BackupPhase {
  if (unfinished > 0) {
    return partly ? 'WaitingForPluginOperationsPartiallyFailed' : 'WaitingForPluginOperations'
  }
  return partly ? 'FinalizingPartiallyFailed' : 'Finalizing'
}

/**
 * Waits for the operations of backups: asks about them now and then, keeps their file current, and moves the backup on when all have
 * ended. The file comes before the status, so that whoever takes over finds no status that the bucket does not bear out.
 */
export function backupOperationsController(options: BackupOperationsOptions): ControllerOptions {
  const { informer, backups, clock, waiting, everyMs, resourceTimeoutMs, moves } = options
  const patience = new Patience({ clock, patienceMs: resourceTimeoutMs })
  const watched = new Map<string, Watched>()
  const reasons = new Map<string, string>()
  const deleted = new DeletedObjects<Backup>(({ status }) => isWaiting.has(status?.phase))

  function forget(key: string, backup: Backup | undefined): void {
    for (const uid of [backup?.metadata.uid, watched.get(key)?.uid]) waiting.forget(uid ?? '')
    watched.delete(key)
    reasons.delete(key)
  }

  /** What is known of a backup; of another one that had its name nothing is remembered. */
  function watchedOf(key: string, { uid }: Backup['metadata']): Watched {
    const known = watched.get(key)
    if (known !== undefined && known.uid === uid) return known
    waiting.forget(known?.uid ?? '')
    const fresh = { uid, nextAt: 0, since: clock.now(), movesWereOver: false }
    watched.set(key, fresh)
    return fresh
  }

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const scope = { ...options, ...context, reasons, patience }
    for (const gone of deleted.of(key)) {
      await stopDeleted(gone, scope)
      deleted.settle(gone)
    }
    const backup = backups.get(key)
    if (backup === undefined || !isWaiting.has(backup.status?.phase)) {
      forget(key, backup)
      return done()
    }
    const entry = watchedOf(key, backup.metadata)
    const early = entry.nextAt - clock.now()
    const movesAreOver = moves?.areOver(backup) ?? false
    const isUrgent = isCancelRequested(backup) || (movesAreOver && !entry.movesWereOver)
    // Its own status patches come back as events.
    if (early > 0 && context.failures === 0 && !isUrgent) return again({ afterMs: early })
    await lookOnce(backup, scope)
    const afterMs = pauseAfter(clock.now() - entry.since, everyMs)
    watched.set(key, { ...entry, nextAt: clock.now() + afterMs, movesWereOver: movesAreOver })
    return again({ afterMs })
  }

  return {
    name: 'backup-operations',
    sources: [watching({ informer, predicate: noting(deleted, backups) }), ...(moves ? [moves.source] : [])],
    reconcile,
    concurrency: CONCURRENCY,
    backoff: { baseMs: everyMs, maxMs: Math.max(everyMs, LONGEST_WAIT_MS), jitter: 0.25 },
  }
}

/** Lets every event through, and remembers what was deleted: as this server has left it, of which the event may know less. */
function noting(
  deleted: DeletedObjects<Backup>,
  backups: LatestObjects<Backup>,
): (event: ObjectEvent<Backup>) => boolean {
  return event => {
    deleted.note({ ...event, object: backups.asWritten(event.object) })
    return true
  }
}

interface Watched {
  uid: string | undefined
  /** When its operations are asked about again. */
  nextAt: number
  /** When they were first asked about here. */
  since: number
  /** Whether all of its moves were over when they were asked about. */
  movesWereOver: boolean
}

const SHORTEST_PAUSE_MS = 1_000

/** What takes seconds is not waited for much longer: first, operations are asked about again after as long as they have been waited for. */
export function pauseAfter(waitedMs: number, everyMs: number): number {
  return Math.min(everyMs, Math.max(SHORTEST_PAUSE_MS, waitedMs))
}

/** Between attempts to read or write the bucket of a backup that waits. */
const LONGEST_WAIT_MS = 60_000

interface Scope extends BackupOperationsOptions, ReconcileContext {
  /** By the key of a backup: what was last said about why it waits longer. */
  reasons: Map<string, string>
  /** With what deleted backups have left. */
  patience: Patience
}

async function lookOnce(backup: Backup, scope: Scope): Promise<void> {
  const location = await storageLocationOf(backup, scope)
  if (location === undefined) return lookWithoutLocation(backup, scope)
  if (location.spec.accessMode === 'ReadOnly' && !isCancelRequested(backup)) {
    throw await told(
      backup,
      new OperationsError('the storage location is read-only', 'make it writable, or cancel the backup'),
      scope,
    )
  }
  try {
    await using opened = await openLocation(location, scope.ports, scope.signal)
    const { clock, random } = scope
    const store = createBackupStore({ location: opened, clock, random })
    const round = await oneRound(backup, store, scope)
    await moveAfterRound(backup, statusAfterRound(backup, round), scope)
  } catch (error) {
    scope.signal.throwIfAborted()
    if (isLost(error) && mayGiveUp(backup, scope)) return endWithout(backup, error, scope)
    throw await told(backup, error, scope)
  }
}

async function oneRound(backup: Backup, store: BackupStore, scope: Scope): Promise<BackupRound> {
  const { client, waiting, clock, log, perform, random, signal } = scope
  const { uid = '', name = '', namespace = '' } = backup.metadata
  const owner = { uid, of: 'backup', name } as const
  const known = await waiting.load(owner, store, signal)
  if (isCancelRequested(backup)) {
    const stopping = { ...perform, clock, log, reason: cancelledByRequest, signal }
    const { operations } = await stopBackupOperations(backup, known, stopping)
    // An action that does not listen would let them go on.
    await cancelMovesIfPossible({ of: 'backup', uid }, { client, log, namespace, signal })
    await waiting.save({ ...owner, operations }, store, signal)
    return { operations, ...countOperations(operations) }
  }
  await using plugins = perform.plugins.open({ log })
  const snapshotters = perform.openSnapshotters?.(plugins)
  const asked = operationPortsOf(backup, { clock, log, plugins, snapshotters })
  const timeoutMs = operationTimeoutOf(backup)
  const endAtFailure = backup.status?.phase === 'WaitingForPluginOperations'
  const options = { timeoutMs, atOnce: askedAtOnce, endAtFailure, beginAt: random(), signal }
  const polled = await pollOperations(known, asked, options)
  for (const { operation, error } of polled.failures) {
    const { operationID, backupItemAction } = operation.spec
    log.error(
      { backup: name, operation: operationID, action: backupItemAction, error },
      'an operation failed',
    )
  }
  await waiting.save({ ...owner, operations: polled.operations }, store, signal)
  return polled
}

/** Writes what is different. Nothing is, most of the time. */
async function moveAfterRound(backup: Backup, status: BackupStatus, scope: Scope): Promise<void> {
  const before = { ...backup.status }
  const names = Object.keys(status) as (keyof BackupStatus)[]
  if (names.every(name => before[name] === status[name])) return
  const written = await patchStatus(backup, status, scope)
  if (written === undefined || status.phase === before.phase) return
  const { client, clock, log, signal } = scope
  log.info({ backup: backup.metadata.name, ...status }, 'backup moved')
  const type = status.phase?.endsWith('PartiallyFailed') ? 'Warning' : 'Normal'
  const message = `Backup is ${status.phase}`
  await recordEvent(
    { about: written, type, reason: `Backup${status.phase}`, message },
    { client, clock, log, signal },
  )
}

/** What a backup waits for cannot be looked at. */
class OperationsError extends Error {
  override readonly name = 'OperationsError'
  readonly code = 'OPERATIONS_UNKNOWN'
  readonly hint: string

  constructor(reason: string, hint: string) {
    super(`${reason}. ${hint}`)
    this.hint = hint
  }
}

/** The file of operations is not there, or damaged: waiting does not bring it back. */
function isLost(error: unknown): boolean {
  return isObjectStoreError(error, 'STORE_FAULT') && !error.retryable
}

/** Once somebody asks for it, or when the operations would have been given up for their time. */
function mayGiveUp(backup: Backup, { clock }: Scope): boolean {
  if (isCancelRequested(backup)) return true
  const { startTimestamp } = backup.status ?? {}
  const began = typeof startTimestamp === 'string' ? parseTime(startTimestamp) : 0
  return began + operationTimeoutOf(backup) < clock.now()
}

async function endWithout(backup: Backup, error: unknown, scope: Scope): Promise<void> {
  scope.log.error({ error, backup: backup.metadata.name }, 'a backup ends without its operations')
  const errors = (backup.status?.errors ?? 0) + 1
  await moveAfterRound(backup, { phase: 'FinalizingPartiallyFailed', errors }, scope)
}

/** There is nowhere to keep the backup: whoever asks for its end gets it, everybody else waits for the location. */
async function lookWithoutLocation(backup: Backup, scope: Scope): Promise<void> {
  const missing = `the storage location ${backup.spec.storageLocation} does not exist`
  if (!isCancelRequested(backup)) {
    throw await told(backup, new OperationsError(missing, 'create it again, or cancel the backup'), scope)
  }
  const known = scope.waiting.peek(backup.metadata.uid ?? '') ?? []
  const { clock, log, perform, signal } = scope
  await stopBackupOperations(backup, known, { ...perform, clock, log, reason: cancelledByRequest, signal })
  await discardSnapshotsOf(backup, scope)
  const failureReason = `${cancelledByRequest}; ${missing}`
  const completionTimestamp = formatTime(clock.now())
  await moveAfterRound(backup, { phase: 'Failed', failureReason, completionTimestamp }, scope)
}

/** Says in an event why a backup waits longer than its operations; the log has it from who throws. */
async function told(backup: Backup, error: unknown, scope: Scope): Promise<unknown> {
  const { client, clock, log, signal, failures, reasons } = scope
  const message = `Operations cannot be followed: ${error instanceof Error ? error.message : String(error)}`
  const isNew = reasons.get(keyOf(backup)) !== message
  reasons.set(keyOf(backup), message)
  // With every failure the wait grows; an event for each new reason, and then now and then.
  if (isNew || failures % EVENT_EVERY === 0) {
    await recordEvent(
      { about: backup, type: 'Warning', reason: 'BackupOperationsUnknown', message },
      { client, clock, log, signal },
    )
  }
  return error
}

const EVENT_EVERY = 10

/** Who deletes a backup that waits wants neither its operations nor its files, which nobody can see. Throws what is worth another attempt. */
async function stopDeleted(backup: Backup, scope: Scope): Promise<void> {
  const { waiting, clock, log, perform, signal } = scope
  const { uid = '' } = backup.metadata
  // What is known here need not wait for the bucket.
  const stopKnown = () => {
    const stopping = { ...perform, clock, log, reason: 'the backup was deleted', signal }
    return stopBackupOperations(backup, waiting.peek(uid) ?? [], stopping)
  }
  try {
    if (!(await removeDeleted(backup, scope))) await stopKnown()
  } catch (error) {
    signal.throwIfAborted()
    await stopKnown()
    throw error
  }
  waiting.forget(uid)
}

function patchStatus(
  backup: Backup,
  status: BackupStatus,
  { client, backups, signal }: Scope,
): Promise<Backup | undefined> {
  return patchInPhase(backup, { kind: BackupKind, body: { status } }, { client, latest: backups, signal })
}

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
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  isConflict,
  type KubeClient,
  keyOf,
  type ObjectEvent,
  type Outcome,
  patiently,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { observeFacts } from '../backup/observe-facts.ts'
import { type PerformPorts, phaseAfterWork } from '../backup/perform-backup.ts'
import { type BackupDefaults, type PreparedBackup, prepareBackup } from '../backup/prepare/prepare-backup.ts'
import { PublishError } from '../backup/publish-backup.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { haveSnapshotsDiscarded } from '../csi/discard-snapshots-of.ts'
import { cancelMovesIfPossible } from '../volumes/cancel-moves.ts'
import { beginOrRelease, openPlace, releaseClaim, releaseName } from './backup-place.ts'
import { presenceOf } from './backup-presence.ts'
import { DeletedObjects } from './deleted-objects.ts'
import { failInterrupted, leftoversAnnotation, removeDeleted, removeLeftovers } from './fail-interrupted.ts'
import type { LatestObjects } from './latest-objects.ts'
import { beginObject, patchInPhase } from './patch-in-phase.ts'
import { patchObject } from './patch-object.ts'
import { Patience } from './patience.ts'
import { isGone, type Performance, performUnlessCancelled } from './perform-unless-cancelled.ts'
import { recordEvent } from './record-event.ts'

export interface BackupControllerOptions {
  client: KubeClient
  informer: Informer<Backup>
  backups: LatestObjects<Backup>
  clock: Clock
  random: () => number
  /** Where the server's own objects live. */
  namespace: string
  ports: LocationPorts
  perform: PerformPorts
  defaults: BackupDefaults
  concurrentBackups: number
}

export type BackupStep =
  | { type: 'start' }
  /** It has not begun, and is not wanted any more. */
  | { type: 'cancel' }
  /** In progress, but not here: whoever did it is gone. */
  | { type: 'fail-interrupted' }
  /** It failed, and so did removing what it had stored. */
  | { type: 'remove-leftovers' }
  | { type: 'ignore' }

/** What to do about a backup. `running` tells that this process is working on it. */
export function nextStep(backup: Backup | undefined, running: boolean): BackupStep {
  if (backup === undefined || running) return { type: 'ignore' }
  const { phase = 'New' } = backup.status ?? {}
  if (notBegun.has(phase) && isCancelRequested(backup)) return { type: 'cancel' }
  switch (phase) {
    case 'ReadyToStart':
      return { type: 'start' }
    case 'InProgress':
      return { type: 'fail-interrupted' }
    case 'Failed':
      return backup.metadata.annotations?.[leftoversAnnotation] === undefined
        ? { type: 'ignore' }
        : { type: 'remove-leftovers' }
    default:
      return { type: 'ignore' }
  }
}

const notBegun: ReadonlySet<BackupPhase> = new Set(['New', 'Queued', 'ReadyToStart'])

/** How long a server that is told to stop may take to say what became of its backups. */
export const LAST_WORDS_MS = 4_000

/** Between the end of a backup that was deleted and the first attempt to remove what it could not. */
const LEFT_MS = 1_000

/** Takes the backups whose turn has come. */
export function backupController(options: BackupControllerOptions): ControllerOptions {
  const { informer, backups, clock, defaults } = options
  const running = new Set<string>()
  const patience = new Patience({ clock, patienceMs: defaults.resourceTimeout })
  /** Backups that are gone, and of which something is left. */
  const left = new DeletedObjects<Backup>(() => true)

  /** Lets every event through, and remembers what was deleted before it was tidied up. Who runs one sees to that himself, until it has failed. */
  function noting(event: ObjectEvent<Backup>): boolean {
    const object = backups.asWritten(event.object)
    const { type } = nextStep(object, false)
    const isSeenTo = type === 'fail-interrupted' && running.has(keyOf(object))
    if ((type === 'remove-leftovers' || type === 'fail-interrupted') && !isSeenTo) {
      left.note({ ...event, object })
    }
    return true
  }

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const scope = { ...options, ...context, patience, left }
    // Before another one of its name begins.
    for (const gone of left.of(key)) {
      await removeDeleted(gone, scope)
      left.settle(gone)
    }
    const backup = backups.get(key)
    const step = nextStep(backup, running.has(key))
    if (backup === undefined || step.type === 'ignore') return done()
    if (step.type === 'cancel') {
      await cancelNew(backup, scope)
      return done()
    }
    if (step.type === 'fail-interrupted') {
      await failInterrupted(backup, scope)
      return done()
    }
    if (step.type === 'remove-leftovers') {
      await removeLeftovers(backup, scope)
      await patchBackup(backup, { metadata: { annotations: { [leftoversAnnotation]: null } } }, scope)
      return done()
    }
    running.add(key)
    try {
      await takeBackup(backup, scope)
    } finally {
      running.delete(key)
    }
    return left.of(key).length === 0 ? done() : again({ afterMs: LEFT_MS })
  }

  return {
    name: 'backup',
    sources: [watching({ informer, predicate: noting })],
    reconcile,
    // The queue lets no more than that run; one is left for those that are cancelled or have to be tidied up meanwhile.
    concurrency: options.concurrentBackups + 1,
  }
}

type Scope = BackupControllerOptions & ReconcileContext & { patience: Patience; left: DeletedObjects<Backup> }

/** Throws a conflict when someone changed it since it was looked at: it may have begun. */
async function cancelNew(backup: Backup, scope: Scope): Promise<void> {
  const { resourceVersion } = backup.metadata
  const status = {
    phase: 'Failed',
    failureReason: cancelledByRequest,
    completionTimestamp: formatTime(scope.clock.now()),
    queuePosition: 0,
  } as const
  const written = await patchBackup(backup, { metadata: { resourceVersion }, status }, scope)
  if (written === undefined) return
  await tellOfMove(written, status, scope)
  // A server may have died between taking its name and beginning.
  if (backup.status?.phase === 'ReadyToStart') await releaseClaim(backup, scope)
}

async function takeBackup(found: Backup, scope: Scope): Promise<void> {
  const prepared = await prepare(found, scope)
  if (prepared.validationErrors.length > 0) {
    const status = { phase: 'FailedValidation' as const, validationErrors: [...prepared.validationErrors] }
    await move(prepared.backup, status, scope)
    return
  }
  const startTimestamp = formatTime(scope.clock.now())
  let started: Backup | undefined
  try {
    await using place = await openPlace(prepared, scope)
    const begin = () => move(prepared.backup, { phase: 'InProgress', startTimestamp }, scope)
    started = await beginOrRelease(begin, { backup: prepared.backup, store: place.store }, scope)
    if (started !== undefined) await performAndMove({ backup: started, prepared, store: place.store }, scope)
  } catch (error) {
    // One that has not begun is left for the next server.
    if (started === undefined) scope.signal.throwIfAborted()
    if (started === undefined && isConflict(error)) throw error
    if (started === undefined) return await failBefore(prepared.backup, error, scope)
    const hasLeftovers = mayHaveLeftovers(error)
    if (isGone(scope.backups.get(keyOf(found)), found)) {
      return await endDeleted(started, { error, hasLeftovers }, scope)
    }
    await fail(started, { error, hasLeftovers }, scope)
  }
}

/** One that has not begun has stored and begun nothing. What lies in the bucket under its name belongs to others. */
async function failBefore(backup: Backup, error: unknown, scope: Scope): Promise<void> {
  if (isGone(scope.backups.get(keyOf(backup)), backup)) return
  const { name } = backup.metadata
  scope.log.error({ error, backup: name }, 'backup failed')
  const completionTimestamp = formatTime(scope.clock.now())
  await move(backup, { phase: 'Failed', failureReason: textOf(error), completionTimestamp }, scope)
}

async function prepare(backup: Backup, scope: Scope): Promise<PreparedBackup> {
  const { client, namespace, defaults, signal, clock } = scope
  const { globalVolumePolicies } = defaults
  const facts = await observeFacts(backup, { client, namespace, globalVolumePolicies, signal })
  return prepareBackup({ backup, facts, defaults, now: clock.now() })
}

async function performAndMove(work: Performance, scope: Scope): Promise<void> {
  const { backup, store } = work
  const { clock, log, signal } = scope
  const performed = await performUnlessCancelled(work, scope)
  const status: BackupStatus = { ...performed.status, phase: phaseAfterWork(performed) }
  if (status.phase !== 'Failed') {
    const moved = await patiently(() => move(backup, status, scope), { clock, log, signal })
    // Whoever deleted it meanwhile wants neither its files nor its operations.
    if (moved !== undefined) return
    const presence = await presenceOf(backup, scope)
    if (presence === 'gone' || presence === 'failed') await removeLeftovers(backup, scope)
    return
  }
  await cancelMovesOf(backup, scope)
  const completionTimestamp = formatTime(clock.now())
  const failed = { ...backup, status: { ...backup.status, ...status, completionTimestamp } }
  // When this fails, its snapshots are found by its files, and deleted before those.
  await store.putMetadata(failed, signal)
  await releaseName(backup, { store, log, signal })
  const hasLeftovers = !(await haveSnapshotsDiscarded(backup, scope))
  await move(withLeftovers(backup, hasLeftovers), { ...status, completionTimestamp }, scope)
}

/**
 * Even a server that is told to stop says what became of the backup, if it can in a few seconds. Throws when the API server cannot be asked
 * whether it is still for us to say.
 */
async function fail(
  backup: Backup,
  { error, hasLeftovers }: { error: unknown; hasLeftovers: boolean },
  scope: Scope,
): Promise<void> {
  const stopped = scope.signal.aborted
  const failureReason = stopped ? 'the server was stopped during the backup' : textOf(error)
  if (!stopped) scope.log.error({ error, backup: backup.metadata.name }, 'backup failed')
  const completionTimestamp = formatTime(scope.clock.now())
  // A snapshot may have to be waited for; there is to be time for the phase after that.
  const first = lastWords(scope.signal, LAST_WORDS_MS / 2)
  // The answer to its last move may have been lost: others go on with it, and need what it has stored and begun.
  const { clock, log } = scope
  const ask = () => presenceOf(backup, { client: scope.client, signal: first })
  if ((await patiently(ask, { clock, log, signal: first })) === 'moved on') return
  await cancelMovesOf(backup, { ...scope, signal: first })
  const areDiscarded = await haveSnapshotsDiscarded(backup, { ...scope, signal: first })
  const isLeft = hasLeftovers || !areDiscarded
  const failed = withLeftovers(backup, isLeft)
  const signal = lastWords(scope.signal, LAST_WORDS_MS / 2)
  const status = { phase: 'Failed', failureReason, completionTimestamp } as const
  const written = await move(failed, status, { ...scope, signal })
  if (written !== undefined || !isLeft) return
  // Deleted in the meantime: no object says any more that something is left.
  const presence = await presenceOf(backup, { client: scope.client, signal })
  if (presence === 'gone') scope.left.note({ type: 'deleted', object: backup })
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function cancelMovesOf({ metadata }: Backup, { client, log, signal }: Scope): Promise<void> {
  const { uid = '', namespace = '' } = metadata
  await cancelMovesIfPossible({ of: 'backup', uid }, { client, log, namespace, signal })
}

/** What a server that was told to stop has for something that must not be left undone; one that goes on has all the time. */
function lastWords(signal: AbortSignal, withinMs: number): AbortSignal {
  return signal.aborted ? AbortSignal.timeout(withinMs) : signal
}

/** There may be another one of the same name. */
async function endDeleted(
  backup: Backup,
  { error, hasLeftovers }: { error: unknown; hasLeftovers: boolean },
  scope: Scope,
): Promise<void> {
  const { name } = backup.metadata
  scope.log.info({ error, backup: name, hasLeftovers }, 'a backup was deleted while it ran')
  await discardOfDeleted(backup, scope)
  if (hasLeftovers) scope.left.note({ type: 'deleted', object: backup })
}

/** Nobody would find its snapshots later: a stop that comes while one of them is awaited leaves some time for the others. */
async function discardOfDeleted(backup: Backup, scope: Scope): Promise<void> {
  const wasStopped = scope.signal.aborted
  const signal = lastWords(scope.signal, LAST_WORDS_MS)
  if ((await haveSnapshotsDiscarded(backup, { ...scope, signal })) || wasStopped) return
  if (!scope.signal.aborted) return
  await haveSnapshotsDiscarded(backup, { ...scope, signal: AbortSignal.timeout(LAST_WORDS_MS) })
}

function withLeftovers(backup: Backup, hasLeftovers: boolean): Backup {
  if (!hasLeftovers) return backup
  const annotations = { ...backup.metadata.annotations, [leftoversAnnotation]: 'true' }
  return { ...backup, metadata: { ...backup.metadata, annotations } }
}

/** Files, or operations that were begun. Who knows that there are none says so in a PublishError. */
function mayHaveLeftovers(error: unknown): boolean {
  return !(error instanceof PublishError) || error.leftovers
}

/**
 * Moves the backup out of the phase that it has here, with everything that was filled in. Undefined when it is gone, or moved by another
 * server. One that is to begin throws a conflict when anything of it has changed.
 */
async function move(backup: Backup, status: BackupStatus, scope: Scope): Promise<Backup | undefined> {
  const { labels, annotations } = backup.metadata
  const { client, backups: latest, signal } = scope
  const body = {
    metadata: { labels, annotations },
    spec: backup.spec,
    status: { ...backup.status, ...status },
  }
  // One that someone deletes at this moment does not begin.
  const write = status.phase === 'InProgress' ? beginObject : patchInPhase
  const written = await write(backup, { kind: BackupKind, body }, { client, latest, signal })
  if (written !== undefined) await tellOfMove(written, status, scope)
  return written
}

async function tellOfMove(written: Backup, status: BackupStatus, scope: Scope): Promise<void> {
  scope.log.info({ backup: written.metadata.name, ...pick(status) }, 'backup moved')
  const { client, clock, log, signal } = scope
  const type = status.phase === 'Failed' || status.phase === 'FailedValidation' ? 'Warning' : 'Normal'
  const message = status.failureReason ?? status.validationErrors?.join('; ') ?? `Backup is ${status.phase}`
  await recordEvent(
    { about: written, type, reason: `Backup${status.phase}`, message },
    { client, clock, log, signal },
  )
}

function pick({ phase, failureReason, validationErrors, warnings, errors }: BackupStatus): object {
  return { phase, failureReason, validationErrors, warnings, errors }
}

function patchBackup(
  backup: Backup,
  body: object,
  { client, backups, signal }: Pick<Scope, 'client' | 'backups' | 'signal'>,
): Promise<Backup | undefined> {
  const patch = { type: 'merge', body } as const
  return patchObject(backup, { kind: BackupKind, patch }, { client, latest: backups, signal })
}

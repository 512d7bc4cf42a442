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
  isConflict,
  type KubeClient,
  keyOf,
  type Outcome,
  patiently,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { observeFacts } from '../backup/observe-facts.ts'
import { type PerformPorts, performBackup, phaseAfterWork } from '../backup/perform-backup.ts'
import { type BackupDefaults, type PreparedBackup, prepareBackup } from '../backup/prepare/prepare-backup.ts'
import { PublishError, storingOrNothing } from '../backup/publish-backup.ts'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openPatiently } from '../backup-store/open-location.ts'
import { haveSnapshotsDiscarded } from '../csi/discard-snapshots-of.ts'
import { cancelMovesIfPossible } from '../volumes/cancel-moves.ts'
import { CancelWatch } from './cancel-watch.ts'
import { failInterrupted, leftoversAnnotation, removeLeftovers } from './fail-interrupted.ts'
import type { LatestObjects } from './latest-objects.ts'
import { beginObject, patchInPhase } from './patch-in-phase.ts'
import { patchObject } from './patch-object.ts'
import { ProgressPatches } from './progress-patches.ts'
import { recordEvent } from './record-event.ts'
import { stopStoredOperations } from './stop-backup-operations.ts'

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

const PROGRESS_MS = 1_000

/** How long a server that is told to stop may take to say what became of its backups. */
export const LAST_WORDS_MS = 4_000

/** Takes the backups whose turn has come. */
export function backupController(options: BackupControllerOptions): ControllerOptions {
  const { informer, backups } = options
  const running = new Set<string>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const backup = backups.get(key)
    const step = nextStep(backup, running.has(key))
    if (backup === undefined || step.type === 'ignore') return done()
    if (step.type === 'cancel') {
      await cancelNew(backup, { ...options, ...context })
      return done()
    }
    if (step.type === 'fail-interrupted') {
      await failInterrupted(backup, { ...options, ...context })
      return done()
    }
    if (step.type === 'remove-leftovers') {
      await removeLeftovers(backup, { ...options, ...context })
      await patchBackup(
        backup,
        { metadata: { annotations: { [leftoversAnnotation]: null } } },
        { ...options, ...context },
      )
      return done()
    }
    running.add(key)
    try {
      await takeBackup(backup, { ...options, ...context })
    } finally {
      running.delete(key)
    }
    return done()
  }

  return {
    name: 'backup',
    sources: [watching({ informer })],
    reconcile,
    // The queue lets no more than that run; one is left for those that are cancelled or have to be tidied up meanwhile.
    concurrency: options.concurrentBackups + 1,
  }
}

type Scope = BackupControllerOptions & ReconcileContext

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
  if (written !== undefined) await tellOfMove(written, status, scope)
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
    started = await patiently(begin, scope)
    if (started !== undefined) await performAndMove({ backup: started, prepared, store: place.store }, scope)
  } catch (error) {
    // One that has not begun is left for the next server.
    if (started === undefined) scope.signal.throwIfAborted()
    if (started === undefined && isConflict(error)) throw error
    const hasLeftovers = started !== undefined && mayHaveLeftovers(error)
    if (isGone(scope.backups.get(keyOf(found)), found)) {
      // There may be another one of the same name.
      scope.log.info(
        { error, backup: found.metadata.name, hasLeftovers },
        'a backup was deleted while it ran',
      )
      await discardOfDeleted(found, scope)
      return
    }
    await fail(started ?? prepared.backup, { error, hasLeftovers }, scope)
  }
}

/**
 * Opens the store and makes sure that the backup's name is free there. This comes before the backup is in progress, so that whatever
 * lies under the name of an interrupted backup is its own.
 */
async function openPlace(
  { backup, storageLocation }: PreparedBackup,
  { ports, clock, random, log, signal }: Scope,
): Promise<{ store: BackupStore } & AsyncDisposable> {
  if (storageLocation === undefined) throw new Error('the backup has no storage location')
  const location = await openPatiently(storageLocation, ports, { clock, log, signal })
  try {
    const store = createBackupStore({ location, clock, random })
    await requireFreeName(backup, store, signal)
    return { store, [Symbol.asyncDispose]: () => location[Symbol.asyncDispose]() }
  } catch (error) {
    await location[Symbol.asyncDispose]()
    throw error
  }
}

async function prepare(backup: Backup, scope: Scope): Promise<PreparedBackup> {
  const { client, namespace, defaults, signal, clock } = scope
  const { globalVolumePolicies } = defaults
  const facts = await observeFacts(backup, { client, namespace, globalVolumePolicies, signal })
  return prepareBackup({ backup, facts, defaults, now: clock.now() })
}

async function performAndMove(work: Performance, scope: Scope): Promise<void> {
  const { backup, store } = work
  const { clock, signal } = scope
  const performed = await performUnlessCancelled(work, scope)
  const status: BackupStatus = { ...performed.status, phase: phaseAfterWork(performed) }
  if (status.phase !== 'Failed') {
    const moved = await move(backup, status, scope)
    if (moved === undefined) await removeDeleted(work, scope)
    return
  }
  const completionTimestamp = formatTime(clock.now())
  const failed = { ...backup, status: { ...backup.status, ...status, completionTimestamp } }
  const name = backup.metadata.name ?? ''
  await storingOrNothing({ store, name, signal }, () => store.putMetadata(failed, signal))
  const hasLeftovers = !(await haveSnapshotsDiscarded(backup, scope))
  await move(withLeftovers(backup, hasLeftovers), { ...status, completionTimestamp }, scope)
}

/** Whoever deleted the backup meanwhile wants neither its files nor its operations. */
async function removeDeleted({ backup, store }: Performance, scope: Scope): Promise<void> {
  const { clock, log, signal } = scope
  const { plugins, openSnapshotters } = scope.perform
  const reason = 'the backup was deleted'
  await haveSnapshotsDiscarded(backup, scope)
  await stopStoredOperations(backup, { store, reason, clock, log, plugins, openSnapshotters, signal })
  await store.deleteBackup(backup.metadata.name ?? '', signal)
}

/** Somebody asked for the end of a backup that was in progress. */
class CancelledError extends Error {
  override readonly name = 'CancelledError'
  readonly code = 'CANCELLED'

  constructor() {
    super(cancelledByRequest)
  }
}

/** Throws PublishError with a CancelledError when somebody asked for its end, or deleted it, and removes what is in the bucket. */
async function performUnlessCancelled(work: Performance, scope: Scope) {
  const { backup, store } = work
  const key = keyOf(backup)
  await using cancel = new CancelWatch({
    clock: scope.clock,
    isRequested: () => isUnwanted(scope.backups.get(key), backup),
  })
  const signal = AbortSignal.any([scope.signal, cancel.signal])
  try {
    return await performShowingProgress(work, { ...scope, signal, stopping: scope.signal })
  } catch (error) {
    if (scope.signal.aborted || !cancel.signal.aborted) throw error
    const name = backup.metadata.name ?? ''
    return await storingOrNothing({ store, name, signal: scope.signal }, () =>
      Promise.reject(new CancelledError()),
    )
  }
}

function isUnwanted(now: Backup | undefined, begun: Backup): boolean {
  return now === undefined || isGone(now, begun) || isCancelRequested(now)
}

function isGone(now: Backup | undefined, before: Backup): boolean {
  return now?.metadata.uid !== before.metadata.uid
}

interface Performance {
  backup: Backup
  prepared: PreparedBackup
  store: BackupStore
}

async function performShowingProgress(
  { backup, prepared, store }: Performance,
  scope: Scope & { stopping: AbortSignal },
) {
  await using progress = new ProgressPatches<{ itemsBackedUp: number; totalItems: number }>({
    clock: scope.clock,
    everyMs: PROGRESS_MS,
    patch: ({ itemsBackedUp, totalItems }, signal) =>
      patchBackup(
        backup,
        { metadata: { uid: backup.metadata.uid }, status: { progress: { itemsBackedUp, totalItems } } },
        { ...scope, signal },
      ),
  })
  const { policies, warnings, snapshotLocations } = prepared
  return await performBackup(
    {
      ...{ backup, policies, warnings, snapshotLocations, store },
      onProgress: now => progress.report(now),
      stopping: scope.stopping,
    },
    scope.perform,
    scope.signal,
  )
}

async function requireFreeName({ metadata }: Backup, store: BackupStore, signal: AbortSignal) {
  if (!(await store.hasAny(metadata.name ?? '', signal))) return
  throw new Error(
    'backup already exists in object storage: its folder in the bucket is not empty. Choose another name, or delete what is there',
  )
}

/** Even a server that is told to stop says what became of the backup, if it can in a few seconds. */
async function fail(
  backup: Backup,
  { error, hasLeftovers }: { error: unknown; hasLeftovers: boolean },
  scope: Scope,
): Promise<void> {
  const stopped = scope.signal.aborted
  const failureReason = stopped
    ? 'the server was stopped during the backup'
    : error instanceof Error
      ? error.message
      : String(error)
  if (!stopped) scope.log.error({ error, backup: backup.metadata.name }, 'backup failed')
  const completionTimestamp = formatTime(scope.clock.now())
  const { client, log } = scope
  const { uid = '', namespace = '' } = backup.metadata
  // A snapshot may have to be waited for; there is to be time for the phase after that.
  const first = lastWords(scope.signal, LAST_WORDS_MS / 2)
  await cancelMovesIfPossible({ of: 'backup', uid }, { client, log, namespace, signal: first })
  const areDiscarded = await haveSnapshotsDiscarded(backup, { ...scope, signal: first })
  const failed = withLeftovers(backup, hasLeftovers || !areDiscarded)
  const signal = lastWords(scope.signal, LAST_WORDS_MS / 2)
  await move(failed, { phase: 'Failed', failureReason, completionTimestamp }, { ...scope, signal })
}

/** What a server that was told to stop has for something that must not be left undone; one that goes on has all the time. */
function lastWords(signal: AbortSignal, withinMs: number): AbortSignal {
  return signal.aborted ? AbortSignal.timeout(withinMs) : signal
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

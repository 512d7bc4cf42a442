import {
  cancelledByRequest,
  formatTime,
  isCancelRequested,
  type Restore,
  RestoreKind,
  type RestoreStatus,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  keyOf,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openPatiently } from '../backup-store/open-location.ts'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import type { WaitingOperations } from '../operations/waiting-operations.ts'
import { type ObservedRestore, observeRestore } from '../restore/observe-facts.ts'
import { type PerformRestorePorts, performRestore, phaseAfterRestoring } from '../restore/perform-restore.ts'
import {
  type PreparedRestore,
  prepareRestore,
  type RestoreDefaults,
} from '../restore/prepare/prepare-restore.ts'
import { cancelMovesIfPossible } from '../volumes/cancel-moves.ts'
import type { BusyKeys } from './busy-keys.ts'
import { CancelWatch } from './cancel-watch.ts'
import { leftoversAnnotation } from './fail-interrupted.ts'
import { failInterruptedRestore, stopLeftovers } from './fail-interrupted-restore.ts'
import type { LatestObjects } from './latest-objects.ts'
import { withNotedLocation } from './location-of-restore.ts'
import { moveRestore, patchRestore, tellOfMove } from './move-restore.ts'
import { beginObject } from './patch-in-phase.ts'
import { ProgressPatches } from './progress-patches.ts'
import { awaitsRemoval, keptForFiles, removeRestore } from './remove-restore.ts'
import { restoresOverlap } from './restores-overlap.ts'

export interface RestoreControllerOptions {
  client: KubeClient
  informer: Informer<Restore>
  restores: LatestObjects<Restore>
  clock: Clock
  random: () => number
  /** Where the server's own objects live. */
  namespace: string
  ports: LocationPorts
  perform: PerformRestorePorts
  defaults: RestoreDefaults
  /** How long the deletion of a restore waits for a store that does not answer. */
  removalPatienceMs: number
  /** Keys of the restores that others work on. */
  busy: Pick<BusyKeys, 'has'>
  /** Operations of restores that wait for them. */
  waiting: WaitingOperations<RestoreOperation>
}

export type RestoreStep =
  | { type: 'start' }
  /** It has not begun, and nobody wants it any more. */
  | { type: 'cancel' }
  /** In progress, but not here: whoever did it is gone. */
  | { type: 'fail-interrupted' }
  /** It failed, and what it had begun could not be stopped yet. */
  | { type: 'stop-leftovers' }
  /** It is being deleted, and its files are still there. */
  | { type: 'remove' }
  | { type: 'ignore' }

/** What to do about a restore. `running` tells that this process is restoring it. */
export function nextStep(restore: Restore | undefined, running: boolean): RestoreStep {
  if (restore === undefined || running) return { type: 'ignore' }
  if (restore.metadata.deletionTimestamp !== undefined) {
    return awaitsRemoval(restore) ? { type: 'remove' } : { type: 'ignore' }
  }
  switch (restore.status?.phase) {
    case undefined:
    case 'New':
      return { type: isCancelRequested(restore) ? 'cancel' : 'start' }
    case 'InProgress':
      return { type: 'fail-interrupted' }
    case 'Failed':
      return restore.metadata.annotations?.[leftoversAnnotation] === undefined
        ? { type: 'ignore' }
        : { type: 'stop-leftovers' }
    default:
      return { type: 'ignore' }
  }
}

const PROGRESS_MS = 1_000

/** How long a server that is told to stop may take to say what became of its restores. */
export const LAST_WORDS_MS = 4_000

/** A restore that waits for another looks again this often. */
const WAIT_MS = 1_000

/** Restores at the same time; others stay New. */
const MOST_RESTORES = 4

/** Restores that are looked at: more than run, so that deletions do not wait for those. */
const CONCURRENCY = 16

/** Restores backups, several at once as long as they do not touch the same namespaces. */
export function restoreController(options: RestoreControllerOptions): ControllerOptions {
  const { informer, restores, clock, busy, perform } = options
  const running = new Map<string, Restore>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const restore = restores.get(key)
    const scope = { ...options, ...context, plugins: perform.plugins }
    const step = nextStep(restore, running.has(key))
    if (restore === undefined) return done()
    switch (step.type) {
      case 'start':
        if (mustWait(restore, [...running.values()])) return again({ afterMs: WAIT_MS })
        running.set(key, restore)
        try {
          await takeRestore(restore, scope)
        } finally {
          running.delete(key)
        }
        return done()
      case 'cancel': {
        const completionTimestamp = formatTime(clock.now())
        await leaveNew(
          restore,
          { phase: 'Failed', failureReason: cancelledByRequest, completionTimestamp },
          scope,
        )
        return done()
      }
      case 'fail-interrupted':
        await failInterruptedRestore(restore, scope)
        return done()
      case 'stop-leftovers':
        await stopLeftovers(restore, scope)
        return done()
      case 'remove':
        if (busy.has(key)) return again({ afterMs: WAIT_MS })
        await removeRestore(restore, { ...scope, patienceMs: options.removalPatienceMs })
        return done()
      case 'ignore':
        return done()
    }
  }

  return { name: 'restore', sources: [watching({ informer })], reconcile, concurrency: CONCURRENCY }
}

function mustWait(restore: Restore, running: readonly Restore[]): boolean {
  return running.length >= MOST_RESTORES || running.some(other => restoresOverlap(restore, other))
}

type Scope = RestoreControllerOptions & ReconcileContext

async function takeRestore(restore: Restore, scope: Scope): Promise<void> {
  const { client, namespace, defaults, clock, signal } = scope
  const observed = await observeRestore(restore, { client, namespace, signal })
  const prepared = prepareRestore({ restore, facts: observed.facts, defaults })
  const { validationErrors } = prepared
  if (validationErrors.length > 0) {
    const status = { phase: 'FailedValidation' as const, validationErrors: [...validationErrors] }
    await leaveNew(restore, status, scope)
    return
  }
  const startTimestamp = formatTime(clock.now())
  const noted = withNotedLocation(prepared.restore, prepared.location)
  const started = await leaveNew(noted, { phase: 'InProgress', startTimestamp }, scope)
  if (started === undefined) return
  try {
    await performAndMove(started, { ...prepared, observed }, scope)
  } catch (error) {
    await fail(started, error, scope)
  }
}

async function performAndMove(
  restore: Restore,
  { backup, location, policies, observed }: PreparedRestore & { observed: ObservedRestore },
  scope: Scope,
): Promise<void> {
  if (backup === undefined || location === undefined) throw new Error('the backup has no storage location')
  const { clock, random, log, signal } = scope
  await using opened = await openPatiently(location, scope.ports, { clock, log, signal })
  const store = createBackupStore({ location: opened, clock, random })
  await using progress = new ProgressPatches<{ itemsRestored: number; totalItems: number }>({
    clock,
    everyMs: PROGRESS_MS,
    patch: ({ itemsRestored, totalItems }, abort) =>
      patchRestore(
        restore,
        { type: 'merge', body: { status: { progress: { itemsRestored, totalItems } } } },
        { ...scope, signal: abort },
      ),
  })
  await using cancelled = new CancelWatch({
    clock,
    isRequested: () => isCancelRequested(scope.restores.get(keyOf(restore)) ?? restore),
  })
  const { modifiers } = observed
  const request = { restore, backup, policies, modifiers, store, cancel: cancelled.signal }
  const performed = await performRestore(
    { ...request, onProgress: now => progress.report(now) },
    { ...scope.perform, waiting: scope.waiting },
    signal,
  )
  await progress[Symbol.asyncDispose]()
  const phase = phaseAfterRestoring(performed)
  const ended = phase === 'Failed' && { completionTimestamp: formatTime(clock.now()) }
  if (ended) await stopMoves(restore, scope, signal)
  await moveAtLast(restore, { ...performed.status, phase, ...ended }, scope)
}

/** Nobody waits for them any more. */
async function stopMoves(
  { metadata }: Restore,
  { client, log }: Pick<Scope, 'client' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  const { uid = '', namespace = '' } = metadata
  await cancelMovesIfPossible({ of: 'restore', uid }, { client, log, namespace, signal })
}

/** The work is done: a server that is told to stop now still says so. */
async function moveAtLast(restore: Restore, status: RestoreStatus, scope: Scope): Promise<void> {
  try {
    await moveRestore(restore, status, scope)
  } catch (error) {
    if (!scope.signal.aborted) throw error
    await moveRestore(restore, status, { ...scope, signal: AbortSignal.timeout(LAST_WORDS_MS) })
  }
}

/** Even a server that is told to stop says what became of the restore, if it can in a few seconds. */
async function fail(restore: Restore, error: unknown, scope: Scope): Promise<void> {
  const stopped = scope.signal.aborted
  const reason = error instanceof Error ? error.message : String(error)
  const failureReason = stopped ? 'the server was stopped during the restore' : reason
  if (!stopped) scope.log.error({ error, restore: restore.metadata.name }, 'restore failed')
  const completionTimestamp = formatTime(scope.clock.now())
  const signal = stopped ? AbortSignal.timeout(LAST_WORDS_MS) : scope.signal
  await stopMoves(restore, scope, signal)
  await moveRestore(restore, { phase: 'Failed', failureReason, completionTimestamp }, { ...scope, signal })
}

/**
 * Moves a new restore on, with everything that was filled in. It is kept until its files are gone once it may have some, and says where they are. Undefined when
 * it is gone. Throws KubeErrors, among them a conflict when someone changed it since it was looked at.
 */
async function leaveNew(restore: Restore, status: RestoreStatus, scope: Scope): Promise<Restore | undefined> {
  const { annotations } = restore.metadata
  const metadata = status.phase === 'InProgress' ? { finalizers: keptForFiles(restore), annotations } : {}
  const body = { metadata, spec: restore.spec, status: { ...restore.status, ...status } }
  const { client, restores: latest, signal } = scope
  const written = await beginObject(restore, { kind: RestoreKind, body }, { client, latest, signal })
  if (written !== undefined) await tellOfMove(written, status, scope)
  return written
}

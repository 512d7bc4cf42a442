import { isCancelRequested, type Restore, type RestoreStatus } from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import type { LocationPorts } from '../backup-store/open-location.ts'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import type { WaitingOperations } from '../operations/waiting-operations.ts'
import type { PluginSessions } from '../plugin-host/plugin-session.ts'
import { operationTimeoutOf, type SettledOperations } from '../restore/settle-operations.ts'
import { askAboutRestore, type NoOperations } from './ask-about-restore.ts'
import type { BusyKeys } from './busy-keys.ts'
import type { EndedMoves } from './ended-moves.ts'
import type { LatestObjects } from './latest-objects.ts'
import { moveRestore, patchStatus } from './move-restore.ts'
import { recordEvent } from './record-event.ts'

export interface RestoreOperationsOptions {
  client: KubeClient
  informer: Informer<Restore>
  restores: LatestObjects<Restore>
  clock: Clock
  random: () => number
  ports: LocationPorts
  plugins: PluginSessions
  waiting: WaitingOperations<RestoreOperation>
  /** How often plugins are asked about their operations. */
  everyMs: number
  /** Moves of data, which are asked about as soon as they are over. */
  moves?: EndedMoves
  /** Keys of the restores that are worked on; whoever deletes their files looks here first. */
  busy: BusyKeys
}

/** Whether a restore waits for operations of plugins. */
export function isWaiting({ metadata, status }: Restore): boolean {
  const { phase } = status ?? {}
  return (
    metadata.deletionTimestamp === undefined &&
    (phase === 'WaitingForPluginOperations' || phase === 'WaitingForPluginOperationsPartiallyFailed')
  )
}

/**
 * The status of a restore whose operations were asked about. Errors are counted by how many operations have failed, so that they are
 * counted once, even if a server dies after it has stored that they failed.
 */
export function statusAfterAsking(
  { status = {} }: Restore,
  { operations, completed, failed, unfinished }: SettledOperations,
  { isCancelled }: { isCancelled: boolean },
): RestoreStatus {
  const errors = (status.errors ?? 0) + failed - (status.restoreItemOperationsFailed ?? 0)
  const wentWell = status.phase === 'WaitingForPluginOperations' && failed === 0 && !isCancelled
  const twin = wentWell ? '' : 'PartiallyFailed'
  return {
    phase: unfinished > 0 ? `WaitingForPluginOperations${twin}` : `Finalizing${twin}`,
    restoreItemOperationsAttempted: operations.length,
    ...(completed > 0 && { restoreItemOperationsCompleted: completed }),
    ...(failed > 0 && { restoreItemOperationsFailed: failed }),
    ...(errors > 0 && { errors }),
  }
}

/** Restores whose plugins are asked at the same time. */
const CONCURRENCY = 8

/** Between attempts to find the operations of a restore in the bucket. */
const LONGEST_WAIT_MS = 60_000

/** Waits for the operations of restores. One that a server left behind is taken up by the next. */
export function restoreOperationsController(options: RestoreOperationsOptions): ControllerOptions {
  const { informer, restores, clock, busy, waiting, everyMs, moves } = options
  /** When plugins are asked again. */
  const due = new Map<string, number>()
  /** When nobody knew the operations of a restore for the first time. */
  const unknown = new Map<string, number>()
  /** Restores of which all moves were over when they were asked about. */
  const moved = new Set<string>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const restore = restores.get(key)
    if (restore === undefined || !isWaiting(restore)) {
      due.delete(key)
      unknown.delete(key)
      moved.delete(key)
      return done()
    }
    const earlyMs = (due.get(key) ?? 0) - clock.now()
    const movesAreOver = moves?.areOver(restore) ?? false
    const isUrgent = isCancelRequested(restore) || (movesAreOver && !moved.has(key))
    if (earlyMs > 0 && !isUrgent) return again({ afterMs: earlyMs })
    if (movesAreOver) moved.add(key)
    const scope = { ...options, ...context, key, unknown }
    const isOver = await busy.during(key, () => askAndMove(restore, scope))
    if (isOver) waiting.forget(restore.metadata.uid ?? '')
    due.set(key, clock.now() + everyMs)
    return again({ afterMs: everyMs })
  }

  return {
    name: 'restore-operations',
    sources: [watching({ informer }), ...(moves ? [moves.source] : [])],
    reconcile,
    concurrency: CONCURRENCY,
    backoff: { baseMs: everyMs, maxMs: Math.max(everyMs, LONGEST_WAIT_MS), jitter: 0.25 },
  }
}

type Scope = RestoreOperationsOptions & ReconcileContext & { key: string; unknown: Map<string, number> }

/** Whether it waits no longer. */
async function askAndMove(restore: Restore, scope: Scope): Promise<boolean> {
  const isCancelled = isCancelRequested(restore)
  const asked = await askOrGiveUp(restore, scope)
  if ('reason' in asked) {
    const { name } = restore.metadata
    scope.log.error({ restore: name, reason: asked.reason }, 'a restore waits no longer for its operations')
    const errors = (restore.status?.errors ?? 0) + 1
    await moveRestore(restore, { phase: 'FinalizingPartiallyFailed', errors }, scope)
    return true
  }
  const status = statusAfterAsking(restore, asked, { isCancelled })
  if (status.phase !== restore.status?.phase) await moveRestore(restore, status, scope)
  else if (isDifferent(status, restore.status)) await patchStatus(restore, status, scope)
  return asked.unfinished === 0
}

/** A bucket that does not answer may be back tomorrow; a restore whose operations nobody knows is never Completed. */
async function askOrGiveUp(restore: Restore, scope: Scope): Promise<SettledOperations | NoOperations> {
  const { clock, unknown, key, log, signal } = scope
  try {
    const asked = await askAboutRestore(restore, scope)
    unknown.delete(key)
    return asked
  } catch (error) {
    signal.throwIfAborted()
    const since = unknown.get(key) ?? clock.now()
    const reason = error instanceof Error ? error.message : String(error)
    if (isCancelRequested(restore) || clock.now() >= since + operationTimeoutOf(restore)) return { reason }
    if (!unknown.has(key)) {
      log.warn({ error, restore: restore.metadata.name }, 'the operations of a restore are not known now')
      const message = `Its operations are not known, and will be looked for again: ${reason}`
      await recordEvent(
        { about: restore, type: 'Warning', reason: 'RestoreOperationsUnknown', message },
        scope,
      )
    }
    unknown.set(key, since)
    throw error
  }
}

function isDifferent(status: RestoreStatus, before: RestoreStatus = {}): boolean {
  const names = Object.keys(status) as (keyof RestoreStatus)[]
  return names.some(name => status[name] !== before[name])
}

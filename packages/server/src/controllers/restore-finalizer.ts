import { formatTime, isCancelRequested, type Restore, type RestoreStatus } from '@lateen/api'
import {
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { type Finalized, finalizeRestore } from '../restore/finalize/finalize-restore.ts'
import type { BusyKeys } from './busy-keys.ts'
import type { LatestObjects } from './latest-objects.ts'
import { locationOfBackup } from './location-of-backup.ts'
import { moveRestore } from './move-restore.ts'

export interface RestoreFinalizerOptions {
  client: KubeClient
  informer: Informer<Restore>
  restores: LatestObjects<Restore>
  clock: Clock
  random: () => number
  ports: LocationPorts
  /** How long a restore waits for its volumes, and for a store that does not answer. */
  resourceTimeoutMs: number
  /** Keys of the restores that are worked on; whoever deletes their files looks here first. */
  busy: BusyKeys
}

/** Whether a restore waits for its end. */
export function isFinalizing({ metadata, status }: Restore): boolean {
  const { phase } = status ?? {}
  return (
    metadata.deletionTimestamp === undefined &&
    (phase === 'Finalizing' || phase === 'FinalizingPartiallyFailed')
  )
}

/** The status of a restore that has come to its end. */
export function finalizedStatus({ status }: Restore, added: Finalized, now: number): RestoreStatus {
  const warnings = (status?.warnings ?? 0) + added.warnings
  const errors = (status?.errors ?? 0) + added.errors
  const wentWell = status?.phase === 'Finalizing' && added.errors === 0
  return {
    phase: wentWell ? 'Completed' : 'PartiallyFailed',
    completionTimestamp: formatTime(now),
    ...(warnings > 0 && { warnings }),
    ...(errors > 0 && { errors }),
  }
}

/** Restores that are finalized at the same time: most of the time they wait. */
const CONCURRENCY = 8

/**
 * Ends restores: what is left to do once everything is restored, then the phase. One that a server left behind is taken up by the
 * next.
 */
export function restoreFinalizerController(options: RestoreFinalizerOptions): ControllerOptions {
  const { informer, restores, clock, busy } = options
  /** When a restore could not be finalized for the first time. */
  const failing = new Map<string, number>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const restore = restores.get(key)
    if (restore === undefined || !isFinalizing(restore)) return done()
    await busy.during(key, async () => {
      const added = await finalizeOrGiveUp(restore, { ...options, ...context, key })
      failing.delete(key)
      await moveRestore(restore, finalizedStatus(restore, added, clock.now()), { ...options, ...context })
    })
    return done()
  }

  async function finalizeOrGiveUp(restore: Restore, scope: Scope): Promise<Finalized> {
    try {
      return await finalize(restore, scope)
    } catch (error) {
      scope.signal.throwIfAborted()
      const since = failing.get(scope.key) ?? clock.now()
      failing.set(scope.key, since)
      if (clock.now() < since + options.resourceTimeoutMs) throw error
      scope.log.error({ error, restore: restore.metadata.name }, 'restore could not be finalized')
      return { warnings: 0, errors: 1 }
    }
  }

  return { name: 'restore-finalizer', sources: [watching({ informer })], reconcile, concurrency: CONCURRENCY }
}

type Scope = RestoreFinalizerOptions & ReconcileContext & { key: string }

async function finalize(restore: Restore, scope: Scope): Promise<Finalized> {
  const { client, restores, clock, random, log, signal, key } = scope
  const { namespace } = restore.metadata
  const location = await locationOfBackup({ namespace, name: restore.spec.backupName ?? '' }, scope)
  if (location === undefined) {
    const reason = 'the backup or its storage location was deleted before the restore came to its end'
    log.error({ restore: restore.metadata.name, reason }, 'restore could not be finalized')
    return { warnings: 0, errors: 1 }
  }
  await using opened = await openLocation(location, scope.ports, signal)
  const store = createBackupStore({ location: opened, clock, random })
  const isWanted = () => {
    const now = restores.get(key)
    return now !== undefined && isFinalizing(now)
  }
  const isCancelled = () => isCancelRequested(restores.get(key) ?? restore)
  const ports = { client, clock, log, store, timeoutMs: scope.resourceTimeoutMs, isWanted, isCancelled }
  return await finalizeRestore(restore, ports, signal)
}

import { type Backup, BackupKind, type BackupPhase, BackupStorageLocationKind, formatTime } from '@lateen/api'
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
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import type { LatestObjects } from './latest-objects.ts'
import { patchObject } from './patch-object.ts'
import { recordEvent } from './record-event.ts'

export interface BackupFinalizerOptions {
  client: KubeClient
  informer: Informer<Backup>
  backups: LatestObjects<Backup>
  clock: Clock
  random: () => number
  ports: LocationPorts
  /** What is left to do once all operations have ended, in order; each may be repeated. */
  steps?: readonly FinalizeStep[]
}

/** Completes a backup whose operations have ended. Must do no harm when it runs a second time. */
export type FinalizeStep = (scope: {
  backup: Backup
  store: BackupStore
  signal: AbortSignal
}) => Promise<void>

const outcomes: Partial<Record<BackupPhase, 'Completed' | 'PartiallyFailed'>> = {
  Finalizing: 'Completed',
  FinalizingPartiallyFailed: 'PartiallyFailed',
}

/** The backup as it is when finalizing has gone well, or undefined when it is not being finalized. */
export function finalized(backup: Backup, now: number): Backup | undefined {
  const phase = outcomes[backup.status?.phase ?? 'New']
  if (phase === undefined) return undefined
  return { ...backup, status: { ...backup.status, phase, completionTimestamp: formatTime(now) } }
}

/**
 * Ends backups: the last steps, then `velero-backup.json`, then the phase. In this order, because a backup that says
 * Completed must be in the bucket; whoever dies in between begins again and finds nothing in the way.
 */
export function backupFinalizerController(options: BackupFinalizerOptions): ControllerOptions {
  const { client, informer, backups, clock, steps = [] } = options

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const backup = backups.get(key)
    if (backup === undefined || finalized(backup, clock.now()) === undefined) return done()
    const { signal, log } = context
    await using location = await openLocation(
      await locationOf(backup, options, signal),
      options.ports,
      signal,
    )
    const store = createBackupStore({ location, clock, random: options.random })
    for (const step of steps) await step({ backup, store, signal })
    const ended = finalized(backup, clock.now())
    if (ended === undefined) return done()
    await store.putMetadata(ended, signal)
    const written = await patchStatus(ended, options, signal)
    if (written === undefined) return done()
    const { phase } = ended.status ?? {}
    log.info({ backup: key, phase }, 'backup ended')
    const type = phase === 'Completed' ? 'Normal' : 'Warning'
    const message = `Backup ended: ${phase}`
    await recordEvent(
      { about: written, type, reason: `Backup${phase}`, message },
      { client, clock, log, signal },
    )
    return done()
  }

  return { name: 'backup-finalizer', sources: [watching({ informer })], reconcile, concurrency: 2 }
}

function patchStatus(
  backup: Backup,
  { client, backups }: BackupFinalizerOptions,
  signal: AbortSignal,
): Promise<Backup | undefined> {
  const patch = { type: 'merge', body: { status: backup.status } } as const
  return patchObject(backup, { kind: BackupKind, patch }, { client, latest: backups, signal })
}

function locationOf({ metadata, spec }: Backup, { client }: BackupFinalizerOptions, signal: AbortSignal) {
  return client
    .resource(BackupStorageLocationKind, metadata.namespace)
    .get(spec.storageLocation ?? '', { signal })
}

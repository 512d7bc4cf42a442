import { type Backup, BackupKind, type BackupPhase, isCancelRequested } from '@lateen/api'
import type { Informer } from '@lateen/kube'
import {
  again,
  type ControllerOptions,
  done,
  isConflict,
  isNotFound,
  type KubeClient,
  keyOf,
  type Outcome,
  type ReconcileContext,
  type Source,
  watching,
} from '@lateen/kube'
import type { LatestObjects } from './latest-objects.ts'

export interface BackupQueueOptions {
  client: KubeClient
  informer: Informer<Backup>
  backups: LatestObjects<Backup>
  /** Backups that may be ready or in progress at the same time; at least 1. */
  concurrentBackups: number
  /** Tells of two backups whether they touch a namespace in common, as the cluster is now. */
  conflictsNow(signal: AbortSignal): Promise<ConflictTest>
  /** Reasons other than a changed backup to look at the queue again. */
  sources?: readonly Source[]
}

export type ConflictTest = (one: Backup, other: Backup) => boolean

/** A change of one backup's place in the queue. */
export interface QueueChange {
  backup: Backup
  phase: 'Queued' | 'ReadyToStart'
  queuePosition: number
}

/** Namespaces come and go, so the queue is looked at again even if no backup changes. */
const RECHECK_MS = 60_000

const queueKey = 'queue'

/**
 * What the queue should look like: new backups go to its end in the order of their creation, and from its head those
 * leave that do not touch a namespace of a running backup or of one that waits before them, while there is room.
 */
export function planQueue(
  backups: readonly Backup[],
  { concurrentBackups, conflicts }: { concurrentBackups: number; conflicts: ConflictTest },
): QueueChange[] {
  const running = backups.filter(backup => isRunning(phaseOf(backup)))
  const queue = [...backups.filter(isQueued).sort(byPosition), ...backups.filter(isNew).sort(byAge)]
  const ahead = [...running]
  const starting: Backup[] = []
  for (const backup of queue) {
    const hasRoom = running.length + starting.length < concurrentBackups
    if (hasRoom && !ahead.some(other => conflicts(backup, other))) starting.push(backup)
    ahead.push(backup)
  }
  const waiting = queue.filter(backup => !starting.includes(backup))
  return [
    ...starting.map(backup => ({ backup, phase: 'ReadyToStart' as const, queuePosition: 0 })),
    ...waiting
      .map((backup, index) => ({ backup, phase: 'Queued' as const, queuePosition: index + 1 }))
      .filter(({ backup, queuePosition }) => isNew(backup) || backup.status?.queuePosition !== queuePosition),
  ]
}

/** Lets backups wait for each other, and start when their turn has come. */
export function backupQueueController(options: BackupQueueOptions): ControllerOptions {
  const { informer, backups, concurrentBackups } = options

  async function reconcile(_key: string, context: ReconcileContext): Promise<Outcome> {
    const all = backups.list().filter(isWanted)
    if (!all.some(backup => isNew(backup) || isQueued(backup))) return done()
    const conflicts = await options.conflictsNow(context.signal)
    for (const change of planQueue(all, { concurrentBackups, conflicts })) {
      await applyChange(change, options, context)
    }
    return again({ afterMs: RECHECK_MS })
  }

  return {
    name: 'backup-queue',
    sources: [watching({ informer, toKeys: () => [queueKey] }), ...(options.sources ?? [])],
    reconcile,
  }
}

/** One that is to be cancelled before it began has no place in the queue. */
function isWanted(backup: Backup): boolean {
  if (backup.metadata.deletionTimestamp !== undefined) return false
  return !(isCancelRequested(backup) && (isNew(backup) || isQueued(backup)))
}

/** A backup that starts is queued first: whoever watches sees the phases in their order. */
async function applyChange(
  { backup, phase, queuePosition }: QueueChange,
  options: BackupQueueOptions,
  context: ReconcileContext,
): Promise<void> {
  const queued = isNew(backup) && phase === 'ReadyToStart'
  if (queued) await patch(backup, { phase: 'Queued', queuePosition: 1 }, { options, context })
  await patch(options.backups.get(keyOf(backup)), { phase, queuePosition }, { options, context })
}

async function patch(
  backup: Backup | undefined,
  status: { phase: BackupPhase; queuePosition: number },
  { options, context }: { options: BackupQueueOptions; context: ReconcileContext },
): Promise<void> {
  if (backup === undefined) return
  const { name = '', namespace, resourceVersion } = backup.metadata
  // With its version, so that a backup which changed meanwhile is looked at again instead.
  const body = { metadata: { resourceVersion }, status }
  try {
    const { signal } = context
    const written = await options.client
      .resource(BackupKind, namespace)
      .patch(name, { type: 'merge', body }, { signal })
    options.backups.note(written)
    context.log.info({ backup: name, ...status }, 'backup moved in the queue')
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error
  }
}

function phaseOf({ status }: Backup): BackupPhase {
  return status?.phase ?? 'New'
}

function isNew(backup: Backup): boolean {
  return phaseOf(backup) === 'New'
}

function isQueued(backup: Backup): boolean {
  return phaseOf(backup) === 'Queued'
}

function isRunning(phase: BackupPhase): boolean {
  return phase === 'ReadyToStart' || phase === 'InProgress'
}

function byPosition(a: Backup, b: Backup): number {
  return (a.status?.queuePosition ?? 0) - (b.status?.queuePosition ?? 0) || byAge(a, b)
}

function byAge(a: Backup, b: Backup): number {
  const [one, other] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`)
  return (one ?? '') < (other ?? '') ? -1 : 1
}

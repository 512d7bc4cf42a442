import { type Backup, BackupKind, cancelledByRequest, isCancelRequested } from '@lateen/api'
import { type Clock, type KubeClient, keyOf } from '@lateen/kube'
import { type PerformedBackup, type PerformPorts, performBackup } from '../backup/perform-backup.ts'
import type { PreparedBackup } from '../backup/prepare/prepare-backup.ts'
import { PublishError, withoutFiles } from '../backup/publish-backup.ts'
import type { BackupStore } from '../backup-store/backup-store.ts'
import { CancelWatch } from './cancel-watch.ts'
import type { LatestObjects } from './latest-objects.ts'
import { patchObject } from './patch-object.ts'
import { ProgressPatches } from './progress-patches.ts'

/** A backup that has begun. */
export interface Performance {
  backup: Backup
  prepared: PreparedBackup
  store: BackupStore
}

export interface PerformanceScope {
  client: KubeClient
  backups: LatestObjects<Backup>
  clock: Clock
  perform: PerformPorts
  /** Of the server. */
  signal: AbortSignal
}

const PROGRESS_MS = 1_000

/** Somebody asked for the end of a backup that was in progress. */
class CancelledError extends Error {
  override readonly name = 'CancelledError'
  readonly code = 'CANCELLED'

  constructor() {
    super(cancelledByRequest)
  }
}

/**
 * Performs a backup and shows how far it is. Throws as `performBackup` does, and PublishError with a CancelledError when somebody asked
 * for its end, or deleted it: what is in the bucket is then removed, unless something that it had begun is to be found by that.
 */
export async function performUnlessCancelled(
  work: Performance,
  scope: PerformanceScope,
): Promise<PerformedBackup> {
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
    if (error instanceof PublishError && error.leftovers) throw new PublishError(new CancelledError(), true)
    const name = backup.metadata.name ?? ''
    throw await withoutFiles(new CancelledError(), { store, name, signal: scope.signal })
  }
}

function isUnwanted(now: Backup | undefined, begun: Backup): boolean {
  return now === undefined || isGone(now, begun) || isCancelRequested(now)
}

/** Whether a backup is not there any more; there may be another one of its name. */
export function isGone(now: Backup | undefined, before: Backup): boolean {
  return now?.metadata.uid !== before.metadata.uid
}

async function performShowingProgress(
  { backup, prepared, store }: Performance,
  scope: PerformanceScope & { stopping: AbortSignal },
): Promise<PerformedBackup> {
  const { client, backups: latest, clock, perform } = scope
  const { uid } = backup.metadata
  await using progress = new ProgressPatches<{ itemsBackedUp: number; totalItems: number }>({
    clock,
    everyMs: PROGRESS_MS,
    patch: ({ itemsBackedUp, totalItems }, signal) => {
      const body = { metadata: { uid }, status: { progress: { itemsBackedUp, totalItems } } }
      const patch = { type: 'merge', body } as const
      return patchObject(backup, { kind: BackupKind, patch }, { client, latest, signal })
    },
  })
  const { policies, warnings, snapshotLocations } = prepared
  return await performBackup(
    {
      ...{ backup, policies, warnings, snapshotLocations, store },
      onProgress: now => progress.report(now),
      stopping: scope.stopping,
    },
    perform,
    scope.signal,
  )
}

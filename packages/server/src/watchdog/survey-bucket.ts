import { isObjectStoreError } from '@lateen/plugin'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { OpenLocation } from '../backup-store/open-location.ts'
import { bucketFolders } from './bucket-folders.ts'
import {
  type BucketFolder,
  type ClusterView,
  type Unclaimed,
  unclaimedOfBackup,
  unclaimedOfRestore,
} from './unclaimed.ts'

export interface SurveyScope {
  open: OpenLocation
  store: Pick<BackupStore, 'getJson'>
  view: ClusterView
  signal: AbortSignal
}

export interface BucketSurvey {
  /** In order of their keys, at most `mostUnclaimed`. */
  readonly unclaimed: readonly Unclaimed[]
  /** How many more there are. */
  readonly more: number
}

/** A report has to fit into a ConfigMap. */
export const mostUnclaimed = 500

/** Snapshots of one backup that are named. */
const mostSnapshots = 20

/**
 * Lists all that a location has of backups and restores, once and as it comes, and says what nothing refers to. Throws
 * `ObjectStoreError`, or the signal's reason.
 */
export async function surveyBucket(scope: SurveyScope): Promise<BucketSurvey> {
  const unclaimed: Unclaimed[] = []
  let more = 0
  for (const which of ['backups', 'restores'] as const) {
    for await (const found of unclaimedIn(which, scope)) {
      if (unclaimed.length < mostUnclaimed) unclaimed.push(found)
      else more += 1
    }
  }
  return { unclaimed, more }
}

async function* unclaimedIn(of: 'backups' | 'restores', scope: SurveyScope): AsyncGenerator<Unclaimed> {
  const { open, view, signal } = scope
  const { store, bucket, layout } = open
  const keys = store.listObjects({ bucket, prefix: layout.folder(of), signal })
  for await (const folder of bucketFolders(keys, layout, of)) {
    if ('stray' in folder) {
      yield { type: 'stray-key', key: folder.stray, keys: 1 }
    } else if (of === 'restores') {
      yield* unclaimedOfRestore(folder, view)
    } else {
      for (const found of unclaimedOfBackup(folder, view)) yield await withSnapshots(found, folder, scope)
    }
  }
}

async function withSnapshots(found: Unclaimed, folder: BucketFolder, scope: SurveyScope): Promise<Unclaimed> {
  if (found.type !== 'unfinished-backup' || !folder.hasSnapshots) return found
  const file = { of: 'backup', name: folder.name, file: 'volumeSnapshots' } as const
  try {
    const snapshots = snapshotNames(await scope.store.getJson(file, scope.signal))
    return snapshots.length === 0 ? found : { ...found, snapshots: snapshots.slice(0, mostSnapshots) }
  } catch (error) {
    // What is damaged tells nothing, and is to be deleted in any case.
    if (isObjectStoreError(error) && !error.retryable) return found
    throw error
  }
}

type StoredSnapshot = { spec?: { location?: unknown }; status?: { providerSnapshotID?: unknown } } | null

/** `location/snapshot` of each snapshot in the file of a backup. */
function snapshotNames(value: unknown): string[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((snapshot: StoredSnapshot) => {
    const id = snapshot?.status?.providerSnapshotID
    return typeof id === 'string' && id !== '' ? [`${snapshot?.spec?.location ?? ''}/${id}`] : []
  })
}

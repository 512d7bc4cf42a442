import {
  type Backup,
  type BackupPhase,
  labelNames,
  type OwnerReference,
  parseTime,
  validLabelValue,
} from '@lateen/api'
import { dueAnnotation } from '../schedule/due-backup.ts'
import { type SyncedState, syncedAnnotation } from './synced-annotation.ts'

export interface SyncedBackupScope {
  /** The folder it was found in. */
  name: string
  /** Where it becomes an object. */
  namespace: string
  /** The location, by its name in this cluster. */
  location: string
  /** The uid of a schedule of this cluster; undefined when there is none of the name. */
  scheduleUid: (name: string) => string | undefined
  /** Milliseconds since 1970. */
  now: number
}

export type SyncedBackup =
  | { type: 'create'; backup: Backup }
  /** It has not ended where it is made. */
  | { type: 'unfinished' }
  | { type: 'refuse'; reason: string }

/** What `velero-backup.json` of another cluster becomes in this one. */
export function syncedBackup(stored: Backup, scope: SyncedBackupScope): SyncedBackup {
  const { name } = stored.metadata
  if (name !== scope.name) {
    return { type: 'refuse', reason: `its velero-backup.json is that of ${JSON.stringify(name)}` }
  }
  const phase = syncedPhase(stored, scope.now)
  if (phase === undefined) return { type: 'unfinished' }
  const { labels, annotations } = stored.metadata
  const { [dueAnnotation]: _due, ...kept } = annotations ?? {}
  const ownerReferences = ownersHere(stored, scope)
  const backup: Backup = {
    apiVersion: stored.apiVersion,
    kind: stored.kind,
    metadata: {
      name,
      namespace: scope.namespace,
      labels: { ...labels, [labelNames.storageLocation]: validLabelValue(scope.location) },
      annotations: { ...kept, [syncedAnnotation]: 'true' },
      ...(ownerReferences.length > 0 && { ownerReferences }),
    },
    // Hooks are commands of another cluster, for backups that run.
    spec: { ...stored.spec, storageLocation: scope.location, hooks: {} },
    status: { ...stored.status, phase },
  }
  return { type: 'create', backup }
}

/** The backup with what it lacks noted on it. */
export function withSyncedState(backup: Backup, state: SyncedState): Backup {
  const annotations = { ...backup.metadata.annotations, [syncedAnnotation]: state }
  return { ...backup, metadata: { ...backup.metadata, annotations } }
}

const endedPhases: ReadonlySet<BackupPhase> = new Set(['Completed', 'PartiallyFailed', 'Failed'])

const endingPhases: ReadonlySet<BackupPhase> = new Set([
  'WaitingForPluginOperations',
  'WaitingForPluginOperationsPartiallyFailed',
  'Finalizing',
  'FinalizingPartiallyFailed',
])

/** One that should have ended long ago comes, too, so that somebody deletes it: its own cluster does not. */
function syncedPhase({ status }: Backup, now: number): BackupPhase | undefined {
  const phase = status?.phase ?? 'New'
  if (endedPhases.has(phase)) return phase
  const isExpired = !!status?.expiration && parseTime(status.expiration) <= now
  return endingPhases.has(phase) && isExpired ? 'PartiallyFailed' : undefined
}

/** An owner that does not exist would have the backup collected as garbage. */
function ownersHere({ metadata }: Backup, { scheduleUid }: SyncedBackupScope): OwnerReference[] {
  const owners = metadata.ownerReferences ?? []
  return owners.filter(({ kind, name, uid }) => kind === 'Schedule' && scheduleUid(name) === uid)
}

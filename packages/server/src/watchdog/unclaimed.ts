import { type Backup, BackupKind, isTerminal, type Restore, RestoreKind } from '@lateen/api'

/** Something in a bucket that nothing refers to. */
export interface Unclaimed {
  readonly type: 'unfinished-backup' | 'half-deleted-backup' | 'restore-files' | 'journal' | 'stray-key'
  /** The key, or what all of its keys begin with; in full. */
  readonly key: string
  /** How many keys it is. */
  readonly keys: number
  /** The snapshots that an unfinished backup knows, as `location/snapshot`. */
  readonly snapshots?: readonly string[]
}

/** A folder below `backups/` or `restores/`, as a listing shows it. */
export interface BucketFolder {
  readonly name: string
  readonly key: string
  readonly keys: number
  readonly hasMetadata: boolean
  readonly hasSnapshots: boolean
  readonly journals: ReadonlyMap<string, Journal>
}

/** Notes about the operations of a backup, or of a restore from it. */
export interface Journal {
  readonly key: string
  readonly keys: number
  /** Undefined for that of the backup. */
  readonly restore: string | undefined
}

/** What a cluster knows of a location's backups and restores. */
export interface ClusterView {
  /** The backup of that name, if it is in the location. */
  backup(name: string): Backup | undefined
  restore(name: string): Restore | undefined
}

/**
 * What nothing refers to of a folder below `backups/`. A backup that is in the cluster, or was once finished, refers to all of its
 * folder but to the journals of what has ended. One that ended well has `velero-backup.json`: whoever deletes it begins with that.
 */
export function unclaimedOfBackup(folder: BucketFolder, view: ClusterView): Unclaimed[] {
  const { name, key, keys, hasMetadata, journals } = folder
  const backup = view.backup(name)
  if (backup === undefined && !hasMetadata) return [{ type: 'unfinished-backup', key, keys }]
  if (!hasMetadata && endedWell.has(backup?.status?.phase)) {
    return [{ type: 'half-deleted-backup', key, keys }]
  }
  const hasEnded = backup === undefined || isTerminal(BackupKind, backup.status?.phase)
  return [...journals.values()]
    .filter(({ restore }) => (restore === undefined ? hasEnded : !isUnderWay(view.restore(restore))))
    .map(journal => ({ type: 'journal', key: journal.key, keys: journal.keys }))
}

const endedWell: ReadonlySet<string | undefined> = new Set(['Completed', 'PartiallyFailed'])

/** What nothing refers to of a folder below `restores/`: all of it, or nothing. */
export function unclaimedOfRestore({ name, key, keys }: BucketFolder, view: ClusterView): Unclaimed[] {
  return view.restore(name) === undefined ? [{ type: 'restore-files', key, keys }] : []
}

function isUnderWay(restore: Restore | undefined): boolean {
  return restore !== undefined && !isTerminal(RestoreKind, restore.status?.phase)
}

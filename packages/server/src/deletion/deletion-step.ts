import type { Backup } from '@lateen/api'
import type { Clock, KubeClient, Logger } from '@lateen/kube'
import type { ForgetSnapshots } from '../backup-repository/forget-snapshots.ts'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { PluginSession } from '../plugin-host/plugin-session.ts'
import type { OpenSnapshotters } from '../volumes/snapshotters.ts'

/** The backup that is deleted, and what its deletion works with. */
export interface DeletionScope {
  backup: Backup
  /** Where its files are. Undefined for one that never began: what lies in a bucket under its name belongs to others. */
  store: BackupStore | undefined
  /** Of this attempt alone. */
  plugins: PluginSession
  /** Undefined: there are no snapshot locations. */
  openSnapshotters: OpenSnapshotters | undefined
  /** Undefined: there are no repositories. */
  forgetSnapshots?: ForgetSnapshots | undefined
  /** How long one CSI snapshot may take, where the backup does not say. */
  resourceTimeoutMs: number
  client: KubeClient
  clock: Clock
  log: Logger
  /** A folder that exists. */
  scratch: string
  signal: AbortSignal
  /** Says something about the backup that its owner should know, where events are read. */
  warn(reason: string, message: string): Promise<void>
}

/**
 * One part of the deletion of a backup. All parts of all deletions may be repeated: whoever dies in the middle begins again with the
 * first.
 */
export interface DeletionStep {
  /** For logs. */
  readonly name: string
  /** `always`: it does not matter to this step whether those before it have done all they should. */
  readonly runs: 'always' | 'if-all-went-well'
  /** Once it went well it is left out when this server tries again. For what takes long. */
  readonly once?: boolean
  /** Returns what could not be removed, in words for the user. Throwing counts as one of these. */
  run(scope: DeletionScope): Promise<readonly string[]>
}

// The server process. Read entry/server.ts first, then controllers/backup-storage-location.ts.
import type { BackupDiffOptions, ShownDifference } from './entry/backup-diff.ts'
import type { DataMoverOptions } from './entry/data-mover.ts'
import type { LocalBackupOptions, LocalBackupResult } from './entry/local-backup.ts'
import type { LocalRestoreOptions, LocalRestoreResult } from './entry/local-restore.ts'
import type { NodeAgentOptions } from './entry/node-agent-options.ts'
import type { RepoMaintenanceOptions } from './entry/repo-maintenance.ts'
import type { RestorePlanOptions, ShownPlan } from './entry/restore-plan.ts'
import type { ServerOptions } from './entry/server-options.ts'

export { tarBlock, tarHeader, tarPadding } from './backup/archive/tar-header.ts'
export type { BackupDiffOptions, ShownDifference } from './entry/backup-diff.ts'
export type { DataMoverOptions, DataMoverWork } from './entry/data-mover.ts'
export type { LocalBackupOptions, LocalBackupResult } from './entry/local-backup.ts'
export type { LocalRestoreOptions, LocalRestoreResult } from './entry/local-restore.ts'
export { hostPods, type NodeAgentOptions } from './entry/node-agent-options.ts'
export type { RepoMaintenanceOptions } from './entry/repo-maintenance.ts'
export type {
  PlanFiles,
  PlannedAction,
  RestorePlanOptions,
  ShownItem,
  ShownPlan,
} from './entry/restore-plan.ts'
export {
  type LogLevel,
  logLevels,
  ServerOptionError,
  type ServerOptions,
  serverDefaults,
} from './entry/server-options.ts'

export { parsePriorities } from './restore/order/priorities.ts'
export { type KeepFacts, keepLastGoodAnnotation, keptFor } from './retention/keep-last-good.ts'
export {
  type BucketReport,
  lookAnnotation,
  parseReport,
  reportMapName,
} from './watchdog/bucket-report.ts'
export { type DiagnosisFacts, diagnose } from './watchdog/diagnose.ts'
export { type Finding, findingTypes } from './watchdog/finding.ts'

/** Runs the server until the signal aborts; see `entry/server.ts`, which is loaded only now. */
export async function runServer(options: ServerOptions, signal: AbortSignal): Promise<void> {
  const server = await import('./entry/server.ts')
  await server.runServer(options, signal)
}

/** Takes a backup without a server; see `entry/local-backup.ts`, which is loaded only now. */
export async function runLocalBackup(
  options: LocalBackupOptions,
  signal: AbortSignal,
): Promise<LocalBackupResult> {
  const local = await import('./entry/local-backup.ts')
  return local.runLocalBackup(options, signal)
}

/** Restores a backup without a server; see `entry/local-restore.ts`, which is loaded only now. */
export async function runLocalRestore(
  options: LocalRestoreOptions,
  signal: AbortSignal,
): Promise<LocalRestoreResult> {
  const local = await import('./entry/local-restore.ts')
  return local.runLocalRestore(options, signal)
}

/** Plans a restore without a server; see `entry/restore-plan.ts`, which is loaded only now. */
export async function openRestorePlan(options: RestorePlanOptions, signal: AbortSignal): Promise<ShownPlan> {
  const plan = await import('./entry/restore-plan.ts')
  return plan.openRestorePlan(options, signal)
}

/** Compares backups; see `entry/backup-diff.ts`, which is loaded only now. */
export async function* diffBackups(
  options: BackupDiffOptions,
  signal: AbortSignal,
): AsyncGenerator<ShownDifference> {
  const diff = await import('./entry/backup-diff.ts')
  yield* diff.diffBackups(options, signal)
}

/** Runs a node agent until the signal aborts; see `entry/node-agent.ts`, which is loaded only now. */
export async function runNodeAgent(options: NodeAgentOptions, signal: AbortSignal): Promise<void> {
  const agent = await import('./entry/node-agent.ts')
  await agent.runNodeAgent(options, signal)
}

/** Moves the data of one volume; see `entry/data-mover.ts`, which is loaded only now. */
export async function runDataMover(options: DataMoverOptions, signal: AbortSignal): Promise<boolean> {
  const mover = await import('./entry/data-mover.ts')
  return mover.runDataMover(options, signal)
}

/** Maintains one repository once; see `entry/repo-maintenance.ts`, which is loaded only now. */
export async function runRepoMaintenance(
  options: RepoMaintenanceOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const maintenance = await import('./entry/repo-maintenance.ts')
  return maintenance.runRepoMaintenance(options, signal)
}

// The server process. Read entry/server.ts first, then controllers/backup-storage-location.ts.
import type { LocalBackupOptions, LocalBackupResult } from './entry/local-backup.ts'
import type { ServerOptions } from './entry/server-options.ts'

export type { LocalBackupOptions, LocalBackupResult } from './entry/local-backup.ts'
export {
  type LogLevel,
  logLevels,
  ServerOptionError,
  type ServerOptions,
  serverDefaults,
} from './entry/server-options.ts'

export { parsePriorities } from './restore/order/priorities.ts'

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

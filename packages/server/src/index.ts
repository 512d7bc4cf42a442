// The server process. Read entry/server.ts first, then controllers/backup-storage-location.ts.
import type { ServerOptions } from './entry/server-options.ts'

export {
  type LogLevel,
  logLevels,
  ServerOptionError,
  type ServerOptions,
  serverDefaults,
} from './entry/server-options.ts'

/** Runs the server until the signal aborts; see `entry/server.ts`, which is loaded only now. */
export async function runServer(options: ServerOptions, signal: AbortSignal): Promise<void> {
  const server = await import('./entry/server.ts')
  await server.runServer(options, signal)
}

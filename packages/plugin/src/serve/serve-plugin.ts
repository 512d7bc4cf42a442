import { randomBytes } from 'node:crypto'
import { rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isSea } from 'node:sea'
import { setTimeout as after } from 'node:timers/promises'
import { magicCookie, serializeHandshake } from '../handshake.ts'
import { kindsKnownToHost, knownKindsVariable } from '../plugin-kinds.ts'
import { parseHostFlags } from './host-flags.ts'
import { createPluginLog, type PluginLog } from './plugin-log.ts'
import { type PluginServer, startPluginServer } from './plugin-server.ts'
import { redirectOutput } from './redirect-output.ts'
import { checkPlugins, type PluginFactories } from './registered-plugins.ts'
import { writeSurely } from './write-surely.ts'

/** By this variable a script that starts a program tells it what the host started. */
const commandVariable = 'LATEEN_PLUGIN_COMMAND'
/** Hosts wait for two seconds before they kill. */
const MAX_STOPPING_MS = 1000
/** What the address of a Unix socket has room for. */
const MAX_SOCKET_PATH = 107

/**
 * Makes this process a plugin program: it checks that a host started it, listens, tells the host where, and serves until the host
 * ends it, which ends the process. Call it once, with all plugins of the program. Throws BAD_NAME for names that cannot be
 * registered.
 */
export async function servePlugin(plugins: PluginFactories): Promise<void> {
  checkPlugins(plugins)
  const { env } = process
  if (env[magicCookie.variable] !== magicCookie.value) {
    writeSurely(2, notForPeople())
    process.exit(1)
  }
  const { logLevel, features } = parseHostFlags(process.argv.slice(2))
  const log = createPluginLog({ level: logLevel, write: line => writeSurely(2, line) })
  const state: { server?: PluginServer } = {}
  endWithFailure(log, () => state.server)
  const server = await startPluginServer({
    plugins,
    socketPath: newSocketPath(env.PLUGIN_UNIX_SOCKET_DIR),
    command: env[commandVariable] ?? startedCommand(),
    knownKinds: kindsKnownToHost(env[knownKindsVariable]),
    features,
    log,
    onShutdown: () => stop(),
  })
  state.server = server
  const stop = () => {
    const stopped = Promise.race([server[Symbol.asyncDispose](), after(MAX_STOPPING_MS)])
    void stopped.finally(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  // An interrupt of the terminal reaches the whole group; the host decides.
  process.on('SIGINT', () => {})
  writeSync(1, serializeHandshake({ network: 'unix', address: server.socketPath }))
  redirectOutput(log)
}

function startedCommand(): string {
  // In a single executable, this is what the host called it; otherwise the host started the script.
  return isSea() ? process.argv0 : (process.argv[1] ?? process.argv0)
}

function newSocketPath(folder: string | undefined): string {
  const name = `plugin${randomBytes(6).toString('hex')}`
  const wanted = path.join(folder || tmpdir(), name)
  return Buffer.byteLength(wanted) <= MAX_SOCKET_PATH ? wanted : path.join('/tmp', name)
}

/** A host shows what is logged; what Node prints would be lost among debug lines. */
function endWithFailure(log: PluginLog, server: () => PluginServer | undefined): void {
  const end = (error: unknown) => {
    const err = error instanceof Error ? error : new Error(String(error))
    log.error({ err, stack: err.stack }, 'The plugin program ends because of an error that nothing catches')
    const socket = server()?.socketPath
    if (socket !== undefined) rmSync(socket, { force: true })
    process.exit(1)
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}

function notForPeople(): string {
  return [
    'This program is a plugin of Lateen and Velero. It is started by their servers and is of no use by itself.',
    'To use it, put it into the plugins folder of the server: for Velero /plugins in its pod, see "velero plugin add".',
    '',
  ].join('\n')
}

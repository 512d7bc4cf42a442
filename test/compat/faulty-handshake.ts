// A plugin program that is fine but for how it introduces itself or ends, which its first argument tells.
import { writeSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { BackupItemAction } from '@lateen/plugin'
import { createPluginLog } from '@lateen/plugin/serve'
import { addActionServices } from '../../packages/plugin/src/serve/action-services.ts'
import { addHostServices } from '../../packages/plugin/src/serve/host-services.ts'
import { PluginInstances, type PluginListing } from '../../packages/plugin/src/serve/registered-plugins.ts'

const [mode = '', ...names] = process.argv.slice(2).filter(word => !word.startsWith('--'))
const socketPath = path.join(process.env.PLUGIN_UNIX_SOCKET_DIR ?? '/tmp', `s${process.pid}`)
const say = (line: string) => void writeSync(1, `${line}\n`)
const good = `1|2|unix|${socketPath}|grpc|`

const fine: BackupItemAction = {
  appliesTo: async () => ({}),
  execute: async ({ item }) => ({ item, unchanged: true }),
}

const named = Object.fromEntries(names.map(name => [name, () => fine]))
const usual = names.map(name => ({ kind: 'BackupItemAction', name }))
const v2 = names.map(name => ({ kind: 'BackupItemActionV2', name }))

/** Serves one action for each name, lists what it is told to, and ends when it is asked to only if `ends`. */
async function serve({ listings = usual, ends = true } = {}): Promise<void> {
  const server = new Server()
  addHostServices(server, {
    listings: listings as PluginListing[],
    command: process.argv[1] ?? '',
    onShutdown: () => void (ends && process.exit(0)),
  })
  const log = createPluginLog({ level: 'info', write: line => void writeSync(2, line) })
  const plugins = { BackupItemAction: named, BackupItemActionV2: named }
  addActionServices(server, new PluginInstances(plugins, { log, features: new Set() }))
  await new Promise(resolve =>
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), resolve),
  )
}

switch (mode) {
  case 'fine':
    await serve()
    say(good)
    break
  case 'both-versions':
    await serve({ listings: [...usual, ...v2] })
    say(good)
    break
  case 'seven-fields':
    await serve()
    say(`${good}|false`)
    break
  case 'text-first':
    await serve()
    say('Starting up, please wait')
    say(good)
    break
  case 'stays':
    process.on('SIGTERM', () => {})
    await serve({ ends: false })
    say(good)
    break
  case 'never-speaks':
    createServer(() => {}).listen(socketPath, () => say(good))
    break
  case 'nobody-listens': {
    const socket = createServer()
    socket.listen(socketPath, () => {
      say(good)
      // The file stays, but nobody accepts.
      process.exit(0)
    })
    break
  }
  case 'no-socket':
    say(good)
    setInterval(() => {}, 1000)
    break
  case 'unknown-kind':
    await serve({ listings: [{ kind: 'FutureAction', name: 'example.com/future' }, ...usual] })
    say(good)
    break
  case 'bad-name':
    await serve({
      listings: ['noslash', 'UPPER.example.com/x', ...names].map(name => ({
        kind: 'BackupItemAction',
        name,
      })),
    })
    say(good)
    break
  case 'dies-listing': {
    const server = createServer(() => process.exit(5))
    server.listen(socketPath, () => say(good))
    break
  }
  default:
    throw new Error(`no mode is called ${mode}`)
}

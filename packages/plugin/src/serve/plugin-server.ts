import { rm } from 'node:fs/promises'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { PluginKind } from '../plugin-kinds.ts'
import { addActionServices } from './action-services.ts'
import { addHostServices } from './host-services.ts'
import { InitialisedPlugins } from './initialised-plugins.ts'
import { addObjectStoreService } from './object-store-service.ts'
import type { PluginLog } from './plugin-log.ts'
import { checkPlugins, listPlugins, type PluginFactories, PluginInstances } from './registered-plugins.ts'
import { addVolumeSnapshotterService } from './volume-snapshotter-service.ts'

export interface PluginServerOptions {
  plugins: PluginFactories
  /** Where to listen; the file must not exist. */
  socketPath: string
  /** What the host starts for each plugin of the program. */
  command: string
  /** The kinds that may be listed. */
  knownKinds: ReadonlySet<PluginKind>
  features: ReadonlySet<string>
  log: PluginLog
  /** Called when the host asks the program to end. */
  onShutdown(): void
}

/** A server that hosts can connect to. Disposing ends all calls, disposes of stores and removes the socket. */
export interface PluginServer extends AsyncDisposable {
  readonly socketPath: string
}

/** Starts to serve plugins. Throws BAD_NAME for names that cannot be registered; rejects where the socket cannot be made. */
export async function startPluginServer(options: PluginServerOptions): Promise<PluginServer> {
  const { plugins, socketPath, command, knownKinds, features, log, onShutdown } = options
  checkPlugins(plugins)
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
  const instances = new PluginInstances(plugins, { log, features })
  const stores = new InitialisedPlugins(name => instances.create('ObjectStore', name))
  const snapshotters = new InitialisedPlugins(name => instances.create('VolumeSnapshotter', name))
  addHostServices(server, { listings: listPlugins(plugins, knownKinds), command, onShutdown })
  addActionServices(server, instances)
  addObjectStoreService(server, stores)
  addVolumeSnapshotterService(server, snapshotters)
  await listen(server, socketPath)
  return {
    socketPath,
    async [Symbol.asyncDispose]() {
      server.forceShutdown()
      await rm(socketPath, { force: true })
      await stores[Symbol.asyncDispose]()
      await snapshotters[Symbol.asyncDispose]()
    },
  }
}

function listen(server: Server, socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), error => {
      if (error) reject(error)
      else resolve()
    })
  })
}

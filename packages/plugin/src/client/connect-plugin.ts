import { Client, credentials } from '@grpc/grpc-js'
import type { Handshake } from '../handshake.ts'
import { PluginError } from '../plugin-error.ts'
import type { PluginKind, PluginOfKind } from '../plugin-kinds.ts'
import { GRPCController } from '../proto/go-plugin/grpc-controller_pb.ts'
import { GRPCStdio, StdioData_Channel } from '../proto/go-plugin/grpc-stdio_pb.ts'
import { Health, HealthCheckResponse_ServingStatus } from '../proto/grpc/health_pb.ts'
import { PluginLister } from '../proto/velero/plugin-lister_pb.ts'
import {
  backupItemActionClient,
  backupItemActionV2Client,
  backupItemActionV3Client,
} from './backup-item-action-client.ts'
import { deleteItemActionClient } from './delete-item-action-client.ts'
import { itemBlockActionClient } from './item-block-action-client.ts'
import { limitHeaders } from './limit-headers.ts'
import { objectStoreClient } from './object-store-client.ts'
import { PluginCaller } from './plugin-caller.ts'
import { restoreItemActionClient, restoreItemActionV2Client } from './restore-item-action-client.ts'
import { volumeSnapshotterClient } from './volume-snapshotter-client.ts'

export interface ConnectOptions {
  /** What the program printed. */
  handshake: Handshake
  /** For messages to people: which program it is. */
  program: string
  /** What the plugin prints with means other than its logger. Without it, that is thrown away. */
  onOutput?: ((channel: 'stdout' | 'stderr', data: Uint8Array) => void) | undefined
  /** How long the program may take to speak. Default: 20 s. */
  connectMs?: number
  /** How long short calls may take: listing, selectors, progress, cancelling and the like. Default: 60 s. */
  shortCallMs?: number
  /** Ends the program at once, when what it was being sent is not whole and must not be kept. */
  breakOff?: (() => void) | undefined
  signal?: AbortSignal | undefined
}

/** A plugin as its program lists it. Kinds may be unknown here. */
export interface ListedPlugin {
  command: string
  kind: string
  name: string
}

/** A connection to a plugin program that runs. Whoever started the program ends it. */
export interface PluginConnection extends Disposable {
  listPlugins(signal?: AbortSignal): Promise<ListedPlugin[]>
  /** Rejects unless the program answers that it works. */
  checkHealth(signal?: AbortSignal): Promise<void>
  /** The plugin of that kind and name. Nothing is asked before the first method is called. */
  plugin<Kind extends PluginKind>(kind: Kind, name: string): PluginOfKind[Kind]
  /** Asks the program to end. Resolves when it answered, went away or let the time pass; never rejects. */
  shutdown(timeoutMs: number): Promise<void>
  /** Ends calls that are under way. */
  close(): void
}

const clients: { readonly [Kind in PluginKind]: (caller: PluginCaller) => PluginOfKind[Kind] } = {
  ObjectStore: objectStoreClient,
  VolumeSnapshotter: volumeSnapshotterClient,
  BackupItemAction: backupItemActionClient,
  BackupItemActionV2: backupItemActionV2Client,
  BackupItemActionV3: backupItemActionV3Client,
  RestoreItemAction: restoreItemActionClient,
  RestoreItemActionV2: restoreItemActionV2Client,
  DeleteItemAction: deleteItemActionClient,
  ItemBlockAction: itemBlockActionClient,
}

/** Connects to a plugin program. Rejects with UNAVAILABLE when it does not speak in time, or with the signal's reason. */
export async function connectPlugin(options: ConnectOptions): Promise<PluginConnection> {
  const { program, connectMs = 20_000, shortCallMs = 60_000, breakOff, signal } = options
  limitHeaders()
  const client = openClient(options.handshake)
  const callerOf = (plugin: string, limitMs = shortCallMs) =>
    new PluginCaller({ client, plugin, shortCallMs: limitMs, breakOff })
  try {
    await ready(client, { program, connectMs, signal })
  } catch (error) {
    client.close()
    throw error
  }
  drainOutput(callerOf(program), options.onOutput)
  return {
    async listPlugins(signal) {
      const options = { doing: 'listing its plugins', signal }
      const { plugins } = await callerOf(program).unary(PluginLister.method.listPlugins, {}, options)
      return plugins.map(({ command, kind, name }) => ({ command, kind, name }))
    },
    async checkHealth(signal) {
      const options = { doing: 'asking whether it works', signal }
      const answer = await callerOf(program).unary(Health.method.check, { service: 'plugin' }, options)
      if (answer.status === HealthCheckResponse_ServingStatus.SERVING) return
      throw new PluginError('UNAVAILABLE', { reason: `${program} says that it does not work` })
    },
    plugin: (kind, name) => clients[kind](callerOf(name)),
    async shutdown(timeoutMs) {
      // A program in Go closes the connection instead of answering.
      const asked = callerOf(program, timeoutMs).unary(
        GRPCController.method.shutdown,
        {},
        { doing: 'ending' },
      )
      await asked.catch(() => {})
    },
    close: () => client.close(),
    [Symbol.dispose]: () => client.close(),
  }
}

function openClient({ network, address }: Handshake): Client {
  // Keep-alive pings are left out on purpose: programs in Go end connections that send them. Calls may have effects, so that gRPC must
  // not repeat them; its buffer for that would also tell of messages as sent that are not.
  return new Client(network === 'unix' ? `unix:${address}` : address, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc.enable_retries': 0,
  })
}

async function ready(
  client: Client,
  { program, connectMs, signal }: { program: string; connectMs: number; signal: AbortSignal | undefined },
): Promise<void> {
  signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const silent = (cause?: Error) => {
    const reason = `${program} does not speak to its host`
    reject(new PluginError('UNAVAILABLE', { reason, ...(cause && { cause }) }))
  }
  const abort = () => reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const limit = setTimeout(silent, connectMs)
  client.waitForReady(Number.POSITIVE_INFINITY, cause => (cause ? silent(cause) : resolve()))
  try {
    await promise
  } finally {
    clearTimeout(limit)
    signal?.removeEventListener('abort', abort)
  }
}

/** What nobody takes away blocks a program in Go once a pipe is full of it. */
function drainOutput(caller: PluginCaller, onOutput: ConnectOptions['onOutput']): void {
  const stream = caller.serverStream(GRPCStdio.method.streamStdio, {})
  stream.on('data', ({ channel, data }) => {
    onOutput?.(channel === StdioData_Channel.STDERR ? 'stderr' : 'stdout', data)
  })
  // It ends with the program, and older programs do not have it.
  stream.on('error', () => {})
}

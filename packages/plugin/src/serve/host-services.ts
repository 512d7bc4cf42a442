import { once } from 'node:events'
import { type Server, status } from '@grpc/grpc-js'
import { GRPCBroker } from '../proto/go-plugin/grpc-broker_pb.ts'
import { GRPCController } from '../proto/go-plugin/grpc-controller_pb.ts'
import { GRPCStdio } from '../proto/go-plugin/grpc-stdio_pb.ts'
import { Health, HealthCheckResponse_ServingStatus } from '../proto/grpc/health_pb.ts'
import { PluginLister } from '../proto/velero/plugin-lister_pb.ts'
import { StatusError } from '../wire/status-error.ts'
import { implementService } from './implement-service.ts'
import type { PluginListing } from './registered-plugins.ts'

export interface HostServicesOptions {
  listings: readonly PluginListing[]
  /** What the host starts for each plugin of the program. */
  command: string
  /** Called when the host asks the program to end, after the answer. */
  onShutdown(): void
}

/** Serves what hosts of go-plugin and Velero ask of every program. */
export function addHostServices(
  server: Server,
  { listings, command, onShutdown }: HostServicesOptions,
): void {
  implementService(server, PluginLister, {
    listPlugins: async () => ({ plugins: listings.map(({ kind, name }) => ({ command, kind, name })) }),
  })
  implementService(server, GRPCController, {
    async shutdown() {
      setImmediate(onShutdown)
      return {}
    },
  })
  implementService(server, Health, {
    check: async ({ service }) => serving(service),
    async *watch({ service }, signal) {
      yield serving(service)
      await callEnded(signal)
    },
  })
  // What a program prints goes to its log; hosts hold these two streams open, and nothing passes through them.
  implementService(server, GRPCStdio, {
    streamStdio: (_request, signal) => silence(signal),
  })
  implementService(server, GRPCBroker, {
    startStream: (_requests, signal) => silence(signal),
  })
}

/** `plugin` is the name under which go-plugin asks. */
function serving(service: string) {
  if (service !== '' && service !== 'plugin') throw new StatusError(status.NOT_FOUND, 'unknown service')
  return { status: HealthCheckResponse_ServingStatus.SERVING }
}

/** A stream of nothing, for as long as the call lasts. */
function silence(signal: AbortSignal): AsyncIterable<never> {
  const next = async (): Promise<IteratorResult<never>> => {
    await callEnded(signal)
    return { done: true, value: undefined }
  }
  return { [Symbol.asyncIterator]: () => ({ next }) }
}

async function callEnded(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

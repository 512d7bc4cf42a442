import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createKubeClient, type KubeClient } from '@lateen/kube'

/** An API server that shows what a real one cannot be brought to show, and a client for it. */
export interface FaultServer extends AsyncDisposable {
  readonly client: KubeClient
}

/** Clients count more slowly than servers when the process stalls, and would send on a connection that was just closed. */
const keptOpen = { keepAliveTimeout: 600_000 }

/** Starts a server on loopback that answers as it is told. */
export async function startFaultServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<FaultServer> {
  const server = createServer(keptOpen, (request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = await createKubeClient({
    config: {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      tls: {},
      origin: 'a test',
      credentials: async () => ({ headers: {} }),
      invalidate: () => undefined,
    },
    retry: { attempts: 1 },
  })
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
    },
  }
}

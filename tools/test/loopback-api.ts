import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createKubeClient, type KubeClient, type KubeClientOptions } from '@lateen/kube'

/** An API server that shows what a real one cannot be brought to show, and a client for it. */
export interface LoopbackApi extends AsyncDisposable {
  readonly client: KubeClient
}

/** Starts a server on loopback that answers as it is told. Its client asks once, unless it is told otherwise. */
export async function startLoopbackApi(
  answer: (request: IncomingMessage & { url: string }, response: ServerResponse) => void | Promise<void>,
  options: Partial<KubeClientOptions> = {},
): Promise<LoopbackApi> {
  // A client counts more slowly than a server when the process stalls, and would send on a connection that was just closed.
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    void answer(request as IncomingMessage & { url: string }, response)
  })
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
    ...options,
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

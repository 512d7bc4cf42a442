import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { KubeClient } from '../client.ts'
import type { Clock } from '../clock.ts'
import { createKubeClient, type KubeClientOptions } from '../create-kube-client.ts'

/** Answers one request; `number` counts from 1. */
export type Answer = (
  request: IncomingMessage & { url: string },
  response: ServerResponse,
  number: number,
) => void | Promise<void>

/** A server that misbehaves on purpose, and a client for it whose waits take no time. */
export interface FaultServer extends AsyncDisposable {
  readonly client: KubeClient
  readonly url: string
  /** `METHOD path` of every request that came in. */
  readonly requests: string[]
  /** Every wait the client asked for, in milliseconds. */
  readonly waits: number[]
  /** Connections open at the moment. */
  connections(): Promise<number>
}

/** Clients count more slowly than servers when the process stalls, and would send on a connection that was just closed. */
const keptOpen = { keepAliveTimeout: 600_000 }

/** Starts a server on loopback that answers as it is told. */
export async function startFaultServer(
  answer: Answer,
  options: Partial<KubeClientOptions> = {},
): Promise<FaultServer> {
  const requests: string[] = []
  const waits: number[] = []
  const server = createServer(keptOpen, (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    void answer(request as IncomingMessage & { url: string }, response, requests.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const client = await createKubeClient({
    config: fixedConfig(url),
    clock: recordingClock(waits),
    random: () => 1,
    ...options,
  })
  return {
    client,
    url,
    requests,
    waits,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A server address and nothing to prove. */
export function fixedConfig(server: string): KubeClientOptions['config'] {
  return {
    server,
    tls: {},
    origin: 'a test',
    credentials: async () => ({ headers: {} }),
    invalidate: () => undefined,
  }
}

function recordingClock(waits: number[]): Clock {
  return {
    now: () => 0,
    async sleep(ms, signal) {
      waits.push(ms)
      await new Promise(resolve => setImmediate(resolve))
      signal?.throwIfAborted()
    },
  }
}

/** Sends a Kubernetes Status. */
export function sendStatus(response: ServerResponse, code: number, fields: object = {}): void {
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, ...fields }))
}

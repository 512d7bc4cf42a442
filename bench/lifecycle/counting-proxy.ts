import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'

/** What went through a proxy. */
export interface CountingProxy extends AsyncDisposable {
  readonly endpoint: string
  /** Requests since the last reset, by `LIST` or their method. */
  readonly counts: ReadonlyMap<string, number>
  /** When folders of backups were first listed since the last reset; as `performance.now()` tells. */
  readonly firstListing: number | undefined
  reset(): void
}

/** A proxy on loopback that counts the requests to an S3 server and passes all of them on as they are. */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const counts = new Map<string, number>()
  let firstListing: number | undefined
  const agent = new Agent({ keepAlive: true })
  const server = createServer((incoming, response) => {
    const { method = 'GET', url = '/', headers } = incoming
    const isList = method === 'GET' && /[?&](list-type|delimiter|prefix)=/.test(url)
    if (isList && /[?&]delimiter=/.test(url) && /prefix=[^&]*backups%2F(&|$)/.test(url)) {
      firstListing ??= performance.now()
    }
    const verb = isList ? 'LIST' : method
    counts.set(verb, (counts.get(verb) ?? 0) + 1)
    const outgoing = request(new URL(url, target), { method, headers, agent }, answer => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      pipeline(answer, response).catch(() => response.destroy())
    })
    pipeline(incoming, outgoing).catch(() => response.destroy())
    outgoing.on('error', () => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    get firstListing() {
      return firstListing
    },
    reset() {
      counts.clear()
      firstListing = undefined
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      agent.destroy()
    },
  }
}

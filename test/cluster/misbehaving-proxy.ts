/** A proxy in front of an HTTP server that does to requests what bad networks and busy servers do. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What can happen to a request. */
export const misbehaviours = ['slow-down', 'too-many', 'reset', 'lost-answer', 'cut-body', 'stall'] as const
/** One of `misbehaviours`, or what will be no different next time. */
export type Misbehaviour = (typeof misbehaviours)[number] | 'denied'

/** The proxy while it runs. */
export interface MisbehavingProxy extends AsyncDisposable {
  readonly endpoint: string
  /** How often each thing happened. */
  readonly happened: ReadonlyMap<Misbehaviour, number>
}

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
}

/** Says what happens to a request, at once or later; undefined lets it pass. */
export type NextMisbehaviour = (
  request: Pick<IncomingMessage, 'method' | 'url'>,
) => Misbehaviour | undefined | Promise<Misbehaviour | undefined>

/** Starts the proxy, on loopback unless another address of this machine is given. */
export async function startMisbehavingProxy(
  target: string,
  next: NextMisbehaviour,
  { host = '127.0.0.1' }: { host?: string } = {},
): Promise<MisbehavingProxy> {
  const happened = new Map<Misbehaviour, number>()
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const what = await next(incoming)
    if (what !== undefined) happened.set(what, (happened.get(what) ?? 0) + 1)
    await answer(target, { incoming, response, what })
  }
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy())
  })
  server.listen(0, host)
  await once(server, 'listening')
  return {
    endpoint: `http://${host}:${(server.address() as AddressInfo).port}`,
    happened,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function answer(
  target: string,
  exchange: { incoming: IncomingMessage; response: ServerResponse; what: Misbehaviour | undefined },
): Promise<void> {
  const { incoming, response, what } = exchange
  if (what === 'reset') return void response.socket?.resetAndDestroy()
  if (what === 'stall') return
  const body = await buffer(incoming)
  if (what === 'slow-down') return refuse(response, 503, 'SlowDown')
  if (what === 'denied') return refuse(response, 403, 'AccessDenied')
  if (what === 'too-many') return refuse(response, 429, 'TooManyRequests')
  const passed = await pass(target, incoming, body)
  if (what === 'lost-answer') return void response.socket?.resetAndDestroy()
  response.writeHead(passed.status, passed.headers)
  if (what !== 'cut-body' || passed.body.length < 2) return void response.end(passed.body)
  response.write(passed.body.subarray(0, passed.body.length / 2), () => response.destroy())
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>Not now.</Message></Error>`)
}

/** The signature covers the headers, the host that the client meant included: they go on as they came. */
async function pass(target: string, incoming: IncomingMessage, body: Buffer): Promise<Answer> {
  const { method = 'GET', url = '/', headers } = incoming
  const outgoing = request(new URL(url, target), { method, headers })
  // A server may answer before it has read all, and go.
  outgoing.on('error', () => {})
  outgoing.end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const bytes = await buffer(response)
  const { 'transfer-encoding': _, ...kept } = response.headers
  const length = method === 'HEAD' ? response.headers['content-length'] : `${bytes.length}`
  return {
    status: response.statusCode ?? 500,
    headers: { ...kept, ...(length !== undefined && { 'content-length': length }) },
    body: bytes,
  }
}

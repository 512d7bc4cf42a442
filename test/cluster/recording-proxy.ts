/** A proxy on loopback in front of an HTTP server that remembers who asked for what, and when. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { request as requestSecurely } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { TlsSettings } from '@lateen/kube'

/** A request as it arrived: its head is whole, its body may still be on its way. */
export interface RecordedRequest {
  method: string
  /** Path and query. */
  url: string
  userAgent: string
  /** By the clock of `performance.now()`. */
  at: number
}

export interface ProxyTarget {
  url: string
  /** For a target that wants to know who asks. */
  tls?: TlsSettings
  /** Whether the answer is lost on its way back, though the target has given it. Default: never. */
  loses?: (request: Pick<RecordedRequest, 'method' | 'url'>) => boolean
}

export interface RecordingProxy extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly RecordedRequest[]
  /** Nothing passes any more: connections break, new ones are closed. */
  cut(): void
  mend(): void
}

/** Starts the proxy. */
export async function startRecordingProxy(target: ProxyTarget): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = []
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((incoming, response) => {
    const { method = 'GET', url = '/', headers } = incoming
    requests.push({ method, url, userAgent: headers['user-agent'] ?? '', at: performance.now() })
    pass(target, incoming, response)
  })
  server.on('connection', socket => {
    if (isCut) return void socket.destroy()
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    cut() {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    mend() {
      isCut = false
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Bytes go on as they come, in both directions, so that watches work. */
function pass(target: ProxyTarget, incoming: IncomingMessage, response: ServerResponse): void {
  const { url: base, tls, loses = () => false } = target
  const url = new URL(incoming.url ?? '/', base)
  const { method = 'GET', headers } = incoming
  const isLost = loses({ method, url: url.pathname })
  const send = url.protocol === 'https:' ? requestSecurely : request
  const outgoing = send(url, { method, headers, ...tls }, answer => {
    if (isLost) return void response.socket?.resetAndDestroy()
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    response.flushHeaders()
    pipeline(answer, response, () => undefined)
  })
  outgoing.on('error', () => response.destroy())
  response.on('close', () => outgoing.destroy())
  pipeline(incoming, outgoing, () => undefined)
}

/** Whether a request asks for a change. */
export function isWrite({ method }: RecordedRequest): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from '../logger.ts'
import { RuntimeError } from './runtime-error.ts'

/** Answers one request. A throw is logged and becomes a 500, if nothing was sent yet. */
export type RouteHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

export interface Route {
  /** Default: GET and HEAD. */
  methods?: readonly string[]
  /** Exact, or with a trailing slash a prefix. The longest match answers. */
  path: string
  handler: RouteHandler
}

export interface HttpServerOptions {
  /** Default: all interfaces. */
  host?: string
  /** 0: any free port. */
  port: number
  /** Those that are not given are the default ones. */
  limits?: Partial<HttpLimits>
}

/** What clients may cost that nobody knows: the port is open to all pods of a cluster. Times are in milliseconds. */
export interface HttpLimits {
  /** For the headers of a request to come. */
  headers: number
  /** For a whole request to come. */
  request: number
  /** On a connection on which nothing moves, in either direction. */
  idle: number
  /** How often connections are looked at. */
  look: number
  /** Of the headers, in bytes. */
  headerBytes: number
  /** At the same time. */
  connections: number
}

export const defaultHttpLimits: HttpLimits = {
  headers: 10_000,
  request: 60_000,
  idle: 300_000,
  look: 5_000,
  headerBytes: 16 * 1024,
  connections: 1_000,
}

/** A listening server. Disposing refuses new connections, lets requests in flight finish, and resolves when all have. */
export interface HttpServer extends AsyncDisposable {
  readonly port: number
  /** Cuts every connection, finished or not. */
  cut(): void
}

/** The route for a path: an exact one before prefixes, longer prefixes before shorter ones. */
export function chooseRoute(routes: readonly Route[], path: string): Route | undefined {
  const fits = (route: Route) =>
    route.path.endsWith('/') ? path.startsWith(route.path) : path === route.path
  return routes.filter(fits).sort((a, b) => b.path.length - a.path.length)[0]
}

/** Listens and serves. Routes may be added to the array later. Throws HTTP_LISTEN_FAILED when it cannot listen. */
export async function startHttpServer(
  { host, port, limits }: HttpServerOptions,
  routes: readonly Route[],
  log: Logger,
): Promise<HttpServer> {
  const server = limitedServer({ ...defaultHttpLimits, ...limits }, (request, response) => {
    void serve(request, response, routes).catch(err => fail(err, response, log))
  })
  await listen(server, port, host)
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => server.closeAllConnections(),
    [Symbol.asyncDispose]: () => close(server),
  }
}

/** Slow clients hold a socket for a while, and not the server. */
function limitedServer(limits: HttpLimits, answer: RouteHandler): Server {
  const server = createServer(
    {
      headersTimeout: limits.headers,
      requestTimeout: limits.request,
      connectionsCheckingInterval: limits.look,
      maxHeaderSize: limits.headerBytes,
    },
    (request, response) => void answer(request, response),
  )
  server.timeout = limits.idle
  server.maxConnections = limits.connections
  return server
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  routes: readonly Route[],
): Promise<void> {
  const [path = '/'] = (request.url ?? '/').split('?', 1)
  const route = chooseRoute(routes, path)
  if (route === undefined) return sendText(response, 404, 'not found\n')
  if (!(route.methods ?? ['GET', 'HEAD']).includes(request.method ?? '')) {
    return sendText(response, 405, 'method not allowed\n')
  }
  await route.handler(request, response)
}

/** Answers with plain text. */
export function sendText(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(body)
}

function fail(err: unknown, response: ServerResponse, log: Logger): void {
  log.error({ err, path: response.req.url?.split('?', 1)[0] }, 'http handler failed')
  if (response.headersSent) response.destroy()
  else sendText(response, 500, 'internal error\n')
}

function listen(server: Server, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: Error) => {
      const message = `Cannot listen on ${host ?? 'all interfaces'} port ${port}: ${cause.message}`
      reject(
        new RuntimeError('HTTP_LISTEN_FAILED', message, { hint: 'free the port or choose another', cause }),
      )
    }
    server.once('error', refuse)
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.off('error', refuse)
      resolve()
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
}

import { pipeline } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import type { Dispatcher } from 'undici'
import type { Credentials, KubeConfigSource } from '../auth/kube-config-source.ts'
import { KubeError } from '../errors.ts'
import { type Fence, FencedError } from '../fence.ts'
import { type ConnectionPools, type Lane, openPools } from './connection-pools.ts'
import { describeSubject, type KubeRequest, type KubeResponse } from './kube-request.ts'
import { statusError } from './status-error.ts'
import { transportError } from './transport-error.ts'

/** Few and large pieces are cheaper to hand over than many small ones; larger than this gained nothing. */
const gunzipChunkBytes = 256 * 1024

export interface TransportOptions {
  config: KubeConfigSource
  /** Connections for calls. */
  connections: number
  connectTimeoutMs: number
  /** Longest wait for an answer's head, and between two pieces of its body. */
  requestTimeoutMs: number
  userAgent: string
  /** Asked about every change, right before its first byte. */
  fence: Fence
}

export interface SendOptions {
  lane?: Lane
  /** Longest silence within the body; 0 for none. */
  idleTimeoutMs?: number
}

/** A connection's address and headers, for protocols that upgrade. */
export interface UpgradeTarget {
  dispatcher: Dispatcher
  /** Base URL, `http:` or `https:`. */
  server: string
  headers: Record<string, string>
}

/** Sends requests once each; who wants repetition asks `callWithRetries`. */
export interface Transport extends AsyncDisposable {
  readonly server: string
  /**
   * Resolves when a success's head has arrived. Throws a KubeError for anything else, the signal's reason when
   * aborted.
   */
  send(request: KubeRequest, options?: SendOptions): Promise<KubeResponse>
  upgradeTarget(): Promise<UpgradeTarget>
}

/** A transport for one cluster and identity. Connections open as they are needed. */
export function createTransport(options: TransportOptions): Transport {
  const { config, requestTimeoutMs, userAgent } = options
  const basePath = new URL(config.server).pathname.replace(/\/$/, '')
  const pools = poolsByCertificate(options)

  async function dispatch(request: KubeRequest, { lane = 'calls', idleTimeoutMs }: SendOptions) {
    const credentials = await config.credentials()
    const pool = pools.for(credentials)[lane]
    return await pool.request({
      origin: config.server,
      path: basePath + request.path,
      method: request.method,
      headers: {
        accept: request.accept ?? 'application/json',
        'user-agent': userAgent,
        ...(request.compressed === true && { 'accept-encoding': 'gzip' }),
        ...(request.body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
        ...credentials.headers,
      },
      body: request.body ?? null,
      signal: request.signal ?? null,
      headersTimeout: requestTimeoutMs,
      bodyTimeout: idleTimeoutMs ?? requestTimeoutMs,
    })
  }

  async function send(request: KubeRequest, sendOptions: SendOptions = {}): Promise<KubeResponse> {
    let answer: Dispatcher.ResponseData
    try {
      answer = await dispatch(request, sendOptions)
    } catch (error) {
      throw failureOf(error, request)
    }
    // A body that nobody reads any more may still fail, which would end the process; readers get the error anyway.
    answer.body.on('error', () => undefined)
    if (answer.statusCode >= 300) throw await refusal(answer, request)
    return {
      status: answer.statusCode,
      server: config.server,
      header: name => headerOf(answer, name),
      body: readableBody(answer),
      failure: error => failureOf(error, request, answer.statusCode) as KubeError,
    }
  }

  function failureOf(error: unknown, request: KubeRequest, status?: number): unknown {
    if (error instanceof FencedError) return error
    if (request.signal?.aborted) return request.signal.reason
    if (pools.closed()) return closedError(request, error)
    const { subject } = request
    return transportError(error, { subject, server: config.server, ...(status !== undefined && { status }) })
  }

  async function refusal(answer: Dispatcher.ResponseData, request: KubeRequest): Promise<unknown> {
    const { statusCode: status } = answer
    const retryAfter = headerOf(answer, 'retry-after')
    try {
      const body = await answer.body.text()
      return statusError({ status, body, retryAfter, subject: request.subject, server: config.server })
    } catch (error) {
      return failureOf(error, request, status)
    }
  }

  return {
    server: config.server,
    send,
    async upgradeTarget() {
      const credentials = await config.credentials()
      const headers = { 'user-agent': userAgent, ...credentials.headers }
      return { dispatcher: pools.for(credentials).streams, server: config.server, headers }
    },
    [Symbol.asyncDispose]: () => pools.close(),
  }
}

/** The body as it was before the server compressed it. */
function readableBody(answer: Dispatcher.ResponseData): KubeResponse['body'] {
  if (headerOf(answer, 'content-encoding') !== 'gzip') return answer.body
  const plain = createGunzip({ chunkSize: gunzipChunkBytes })
  plain.on('error', () => undefined)
  pipeline(answer.body, plain, () => undefined)
  return Object.assign(plain, { text: () => text(plain) })
}

function headerOf(answer: Dispatcher.ResponseData, name: string): string | undefined {
  const value = answer.headers[name]
  return Array.isArray(value) ? value[0] : value
}

function closedError(request: KubeRequest, cause: unknown): KubeError {
  return new KubeError('ClientClosed', {
    message: `cannot ${describeSubject(request.subject)}: the client was closed`,
    mayHaveActed: true,
    cause,
  })
}

/** A plugin may hand out a new client certificate at any time; connections made with the old one then retire. */
function poolsByCertificate(options: TransportOptions) {
  let current: { cert: string; pools: ConnectionPools } | undefined
  let closed = false
  return {
    for(credentials: Credentials): ConnectionPools {
      const cert = String(credentials.cert ?? '')
      if (current?.cert !== cert) {
        const retired = current?.pools
        current = { cert, pools: openPools(options.config, credentials, options) }
        void Promise.allSettled([retired?.calls.close(), retired?.streams.close()])
      }
      return current.pools
    },
    closed: () => closed,
    async close() {
      closed = true
      await Promise.all([current?.pools.calls.destroy(), current?.pools.streams.destroy()])
    },
  }
}

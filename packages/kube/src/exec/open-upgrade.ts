import { createHash, randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { KubeError } from '../errors.ts'
import { FencedError } from '../fence.ts'
import type { Api } from '../http/api.ts'
import { callWithRetries } from '../http/call-with-retries.ts'
import { describeSubject, type KubeRequest, type Subject } from '../http/kube-request.ts'
import { statusError } from '../http/status-error.ts'
import { transportError } from '../http/transport-error.ts'

export interface UpgradeRequest {
  path: string
  subject: Subject
  /** Subprotocols we speak, best first. */
  protocols: readonly string[]
  signal?: AbortSignal | undefined
}

export interface Upgraded {
  socket: Duplex
  protocol: string
}

/** From RFC 6455, section 1.3. */
const handshakeId = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * Opens a WebSocket: the handshake goes through the client's own connections, so certificates, tokens and proxies
 * are the same as for calls. Throws the server's Status when it answers with one.
 */
export function openUpgrade(api: Api, upgrade: UpgradeRequest): Promise<Upgraded> {
  const { path, subject, signal } = upgrade
  const request: KubeRequest = { method: 'GET', path, subject, repeatable: false, signal }
  return callWithRetries(request, api.retry, async () => {
    const { dispatcher, server, headers } = await api.transport.upgradeTarget()
    const key = randomBytes(16).toString('base64')
    const handler = handshake({ server, key, upgrade })
    const basePath = new URL(server).pathname.replace(/\/$/, '')
    const options = {
      origin: server,
      path: basePath + path,
      method: 'GET' as const,
      upgrade: 'websocket',
      headers: {
        ...headers,
        'sec-websocket-key': key,
        'sec-websocket-version': '13',
        'sec-websocket-protocol': upgrade.protocols.join(', '),
      },
    }
    dispatcher.dispatch(options, handler)
    return await handler.upgraded
  })
}

interface Handshake {
  server: string
  key: string
  upgrade: UpgradeRequest
}

function handshake({
  server,
  key,
  upgrade,
}: Handshake): Dispatcher.DispatchHandler & { upgraded: Promise<Upgraded> } {
  const { subject, signal } = upgrade
  const { promise, resolve, reject } = Promise.withResolvers<Upgraded>()
  const answer = { status: 0, retryAfter: undefined as string | undefined, body: [] as Buffer[] }
  return {
    upgraded: promise,
    onRequestStart(controller) {
      // Credentials and connections take time: a command that nobody wants any more must not begin.
      if (signal?.aborted) return controller.abort(signal.reason)
      signal?.addEventListener('abort', () => controller.abort(signal.reason), { once: true })
    },
    onRequestUpgrade(...[, , headers, socket]) {
      const accepted = createHash('sha1')
        .update(key + handshakeId)
        .digest('base64')
      if (headers['sec-websocket-accept'] === accepted) {
        resolve({ socket, protocol: String(headers['sec-websocket-protocol'] ?? '') })
      } else {
        socket.destroy()
        reject(noWebSocket(subject, server))
      }
    },
    onResponseStart(_controller, status, headers) {
      answer.status = status
      const retryAfter = headers['retry-after']
      answer.retryAfter = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter
    },
    onResponseData(_controller, chunk) {
      answer.body.push(chunk)
    },
    onResponseEnd() {
      const { status, retryAfter } = answer
      const body = Buffer.concat(answer.body).toString()
      reject(
        status < 300
          ? noWebSocket(subject, server)
          : statusError({ status, body, retryAfter, subject, server }),
      )
    },
    onResponseError(_controller, error) {
      if (error instanceof FencedError) reject(error)
      else reject(signal?.aborted ? signal.reason : transportError(error, { subject, server }))
    },
  }
}

function noWebSocket(subject: Subject, server: string): KubeError {
  return new KubeError('StreamFailed', {
    message: `cannot ${describeSubject(subject)} at ${server}: the answer is not a WebSocket`,
    hint: 'a proxy between here and the API server does not let WebSockets through: go around it',
  })
}

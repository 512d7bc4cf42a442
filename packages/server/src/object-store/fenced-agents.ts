import { type AgentOptions, type ClientRequest, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { Fence } from '@lateen/kube'

/** Node's agents are asked by this for a connection; its types do not tell. */
interface Connecting {
  addRequest(request: ClientRequest, ...more: unknown[]): void
}

const plain = HttpAgent.prototype as HttpAgent & Connecting
const secure = HttpsAgent.prototype as HttpsAgent & Connecting

/** Connections on which the fence is asked about each change when its first byte could be sent: below the SDK's repetition. */
export class FencedHttpAgent extends HttpAgent {
  readonly #fence: Fence

  constructor(options: AgentOptions, fence: Fence) {
    super(options)
    this.#fence = fence
  }

  addRequest(request: ClientRequest, ...more: unknown[]): void {
    guard(request, this.#fence)
    plain.addRequest.call(this, request, ...more)
  }
}

/** The same over TLS. */
export class FencedHttpsAgent extends HttpsAgent {
  readonly #fence: Fence

  constructor(options: HttpsAgentOptions, fence: Fence) {
    super(options)
    this.#fence = fence
  }

  addRequest(request: ClientRequest, ...more: unknown[]): void {
    guard(request, this.#fence)
    secure.addRequest.call(this, request, ...more)
  }
}

/** Asks when the request gets its connection, and again when one that was still being made can be used. */
function guard(request: ClientRequest, fence: Fence): void {
  if (!isChange(request)) return
  const check = () => {
    try {
      fence.check(`${request.method} ${request.path.split('?')[0]}`)
    } catch (error) {
      request.destroy(error as Error)
    }
  }
  request.prependOnceListener('socket', (socket: Socket) => {
    check()
    if (!socket.connecting) return
    socket.prependOnceListener('connect', check)
    socket.prependOnceListener('secureConnect', check)
  })
}

/** To take back the parts of one's own unfinished upload changes nothing that anybody sees. */
function isChange({ method, path }: ClientRequest): boolean {
  if (method === 'DELETE' && /[?&]uploadId=/.test(path)) return false
  return method !== 'GET' && method !== 'HEAD'
}

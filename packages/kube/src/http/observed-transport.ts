import type { Clock } from '../clock.ts'
import { KubeError } from '../errors.ts'
import type { Transport } from './transport.ts'

/** One request as it was sent and answered, or not. */
export interface ObservedRequest {
  /** `get`, `list`, `watch`, `create`, … */
  verb: string
  /** The status of the answer, if there was one. */
  status: number | undefined
  /** Until the head of the answer was there. */
  tookMs: number
}

/** Told about every attempt of every request. Must not throw. */
export type RequestObserver = (request: ObservedRequest) => void

/** The same transport, observed. What is upgraded (exec, forwarded ports) is not seen. */
export function observedTransport(
  transport: Transport,
  { observer, clock }: { observer: RequestObserver; clock: Clock },
): Transport {
  return {
    server: transport.server,
    async send(request, options) {
      const startedAt = clock.now()
      const tell = (status: number | undefined) =>
        observer({ verb: request.subject.verb, status, tookMs: Math.max(0, clock.now() - startedAt) })
      try {
        const response = await transport.send(request, options)
        tell(response.status)
        return response
      } catch (error) {
        tell(error instanceof KubeError ? error.status : undefined)
        throw error
      }
    },
    upgradeTarget: () => transport.upgradeTarget(),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

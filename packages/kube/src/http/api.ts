import { KubeError } from '../errors.ts'
import { callWithRetries, type RetryPorts } from './call-with-retries.ts'
import type { KubeRequest } from './kube-request.ts'
import type { Transport } from './transport.ts'

/** Requests with retries: what all verbs are made of. */
export interface Api {
  readonly transport: Transport
  readonly retry: RetryPorts
  /** Silence after which a watch's connection counts as dead. */
  readonly watchIdleTimeoutMs: number
  /** The answer's body as text. */
  text(request: KubeRequest): Promise<string>
  /** The answer's body as JSON. A body that is not complete JSON is a failed attempt. */
  json<T>(request: KubeRequest): Promise<T>
}

/** Puts repetition around a transport. */
export function createApi(transport: Transport, retry: RetryPorts, watchIdleTimeoutMs: number): Api {
  async function readText(request: KubeRequest): Promise<string> {
    const response = await transport.send(request)
    try {
      return await response.body.text()
    } catch (error) {
      throw response.failure(error)
    }
  }

  async function readJson<T>(request: KubeRequest): Promise<T> {
    const text = await readText(request)
    try {
      return JSON.parse(text) as T
    } catch (cause) {
      throw malformedBody(request, transport.server, cause)
    }
  }

  return {
    transport,
    retry,
    watchIdleTimeoutMs,
    text: request => callWithRetries(request, retry, () => readText(request)),
    json: <T>(request: KubeRequest) => callWithRetries(request, retry, () => readJson<T>(request)),
  }
}

/** A success whose body is not the JSON it should be: cut short, or not from an API server at all. */
export function malformedBody(request: KubeRequest, server: string, cause: unknown): KubeError {
  const { verb, resource } = request.subject
  return new KubeError('BodyMalformed', {
    message: `cannot ${verb} ${resource} at ${server}: the answer is not complete JSON (${(cause as Error).message})`,
    hint: 'the connection was cut, or a proxy answers in place of the API server: try again, then check the address',
    retryable: true,
    mayHaveActed: true,
    cause,
  })
}

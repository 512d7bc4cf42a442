import { Readable } from 'node:stream'
import type { LogOptions, PodRef } from '../client.ts'
import type { Api } from '../http/api.ts'
import { queryString } from '../http/api-path.ts'
import { callWithRetries } from '../http/call-with-retries.ts'
import type { KubeRequest } from '../http/kube-request.ts'

/**
 * A container's log as it is written. With `follow` it ends when the container does. The stream fails when the
 * connection breaks: where to go on is for the caller to know.
 */
export async function podLogs(api: Api, pod: PodRef, options: LogOptions = {}): Promise<Readable> {
  const { signal, ...query } = options
  const { namespace, name, container } = pod
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`
  const request: KubeRequest = {
    method: 'GET',
    path: path + queryString({ container, ...query }),
    accept: '*/*',
    subject: { verb: 'get', resource: 'pods/log', namespace, name },
    repeatable: true,
    signal,
  }
  const idle = options.follow === true ? { idleTimeoutMs: 0 } : {}
  const response = await callWithRetries(request, api.retry, () =>
    api.transport.send(request, { lane: 'streams', ...idle }),
  )
  return Readable.from(failingWith(response.body, response.failure), { objectMode: false })
}

async function* failingWith(body: AsyncIterable<Buffer>, failure: (error: unknown) => Error) {
  try {
    yield* body
  } catch (error) {
    throw failure(error)
  }
}

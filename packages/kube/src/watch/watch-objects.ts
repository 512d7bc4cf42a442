import type { WatchEvent, WatchOptions } from '../client.ts'
import { isUnauthorized, KubeError } from '../errors.ts'
import { type Api, malformedBody } from '../http/api.ts'
import { apiPath, resourceName } from '../http/api-path.ts'
import type { KubeRequest } from '../http/kube-request.ts'
import { backoffMs } from '../http/retry-policy.ts'
import { statusError } from '../http/status-error.ts'
import type { KubeObject, ResourceType } from '../object.ts'
import { LineSplitter } from './line-splitter.ts'

export interface WatchTarget<T extends KubeObject> {
  type: ResourceType<T>
  namespace?: string | undefined
}

/** Each connection lives between five and ten minutes, so that many clients do not reconnect together. */
const minWatchSeconds = 300
const reconnect = { baseMs: 200, capMs: 30_000 }

interface RawEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  object: T
}

/**
 * Events over as many connections as it takes. Ends only by a throw: the signal's reason when aborted, or a
 * KubeError that reconnecting would not cure (`isGone`, 403, 404).
 */
export async function* watchObjects<T extends KubeObject>(
  api: Api,
  target: WatchTarget<T>,
  options: WatchOptions = {},
): AsyncGenerator<WatchEvent<T>, never, undefined> {
  const scope = new AbortController()
  const outer = options.signal
  const signal = outer === undefined ? scope.signal : AbortSignal.any([outer, scope.signal])
  const state: WatchState = { version: options.resourceVersion, failures: 0, unauthorized: false }
  try {
    for (;;) {
      signal.throwIfAborted()
      try {
        state.version ??= await currentVersion(api, target, { ...options, signal })
        yield* readConnection(api, watchRequest(target, { options, state, api, signal }), state)
        // A server that closes at once, again and again, is met with the same patience as one that fails.
        state.failures++
      } catch (error) {
        outer?.throwIfAborted()
        await judge(api, state, error)
      }
      if (state.failures > 0) await api.retry.clock.sleep(waitFor(api, state), signal)
    }
  } finally {
    scope.abort()
  }
}

interface WatchState {
  version: string | undefined
  /** Connections in a row that brought no event. */
  failures: number
  unauthorized: boolean
  retryAfterMs?: number | undefined
}

/** Returns when another connection may help, throws when not. */
async function judge(api: Api, state: WatchState, error: unknown): Promise<void> {
  if (!(error instanceof KubeError)) throw error
  if (isUnauthorized(error) && !state.unauthorized) {
    state.unauthorized = true
    api.retry.invalidateCredentials()
    return
  }
  if (!error.retryable) throw error
  state.failures++
  state.retryAfterMs = error.retryAfterMs
  api.retry.log.debug(
    { code: error.code, failures: state.failures, reason: error.message },
    'Watch broke off',
  )
}

function waitFor(api: Api, state: WatchState): number {
  const asked = state.retryAfterMs ?? 0
  state.retryAfterMs = undefined
  return asked + backoffMs(state.failures, reconnect, api.retry.random)
}

async function* readConnection<T extends KubeObject>(
  api: Api,
  request: KubeRequest,
  state: WatchState,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const response = await api.transport.send(request, {
    lane: 'streams',
    idleTimeoutMs: api.watchIdleTimeoutMs,
  })
  const splitter = new LineSplitter()
  const chunks = response.body[Symbol.asyncIterator]()
  for (;;) {
    const chunk = await nextChunk(chunks, response.failure)
    if (chunk === undefined) return
    for (const line of splitter.push(chunk)) {
      const event = readEvent<T>(line, request, api)
      state.version = event.type === 'BOOKMARK' ? event.resourceVersion : versionOf(event.object)
      state.failures = 0
      state.unauthorized = false
      yield event
    }
  }
}

async function nextChunk(
  chunks: AsyncIterator<Buffer>,
  failure: (error: unknown) => KubeError,
): Promise<Buffer | undefined> {
  try {
    const result = await chunks.next()
    return result.done === true ? undefined : result.value
  } catch (error) {
    throw failure(error)
  }
}

function readEvent<T extends KubeObject>(line: string, request: KubeRequest, api: Api): WatchEvent<T> {
  let event: RawEvent<T>
  try {
    event = JSON.parse(line) as RawEvent<T>
  } catch (cause) {
    throw malformedBody(request, api.transport.server, cause)
  }
  if (event.type === 'ERROR') throw errorEvent(event.object, request, api)
  if (event.type !== 'BOOKMARK') return { type: event.type, object: event.object }
  return { type: 'BOOKMARK', resourceVersion: versionOf(event.object) ?? '' }
}

function errorEvent(object: unknown, { subject }: KubeRequest, api: Api): KubeError {
  const status = (object as { code?: number }).code ?? 500
  const body = JSON.stringify(object)
  return statusError({ status, body, retryAfter: undefined, subject, server: api.transport.server })
}

function versionOf(object: KubeObject): string | undefined {
  return object.metadata.resourceVersion
}

function watchRequest<T extends KubeObject>(
  target: WatchTarget<T>,
  {
    options,
    state,
    api,
    signal,
  }: { options: WatchOptions; state: WatchState; api: Api; signal: AbortSignal },
): KubeRequest {
  const path = apiPath(target, {
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion: state.version,
    timeoutSeconds: Math.round(minWatchSeconds * (1 + api.retry.random())),
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
  })
  return { method: 'GET', path, subject: subjectOf('watch', target), repeatable: true, signal }
}

/** The version of the collection now: where a watch begins that was given none. */
async function currentVersion<T extends KubeObject>(
  api: Api,
  target: WatchTarget<T>,
  { signal, labelSelector, fieldSelector }: WatchOptions,
): Promise<string> {
  const path = apiPath(target, { limit: 1, labelSelector, fieldSelector })
  const request: KubeRequest = {
    method: 'GET',
    path,
    subject: subjectOf('list', target),
    repeatable: true,
    signal,
  }
  const list = await api.json<{ metadata: { resourceVersion: string } }>(request)
  return list.metadata.resourceVersion
}

function subjectOf<T extends KubeObject>(verb: string, target: WatchTarget<T>) {
  return { verb, resource: resourceName(target.type), namespace: target.namespace }
}

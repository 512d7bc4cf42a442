import type { KubeConfigSource } from './auth/kube-config-source.ts'
import type { KubeClient } from './client.ts'
import { type Clock, systemClock } from './clock.ts'
import { createDiscovery } from './discovery.ts'
import { execInPod } from './exec/exec-in-pod.ts'
import { forwardPort } from './exec/forward-port.ts'
import { podLogs } from './exec/pod-logs.ts'
import { type Fence, noFence } from './fence.ts'
import { createApi } from './http/api.ts'
import { observedTransport, type RequestObserver } from './http/observed-transport.ts'
import { defaultRetryPolicy, type RetryPolicy } from './http/retry-policy.ts'
import { createTransport } from './http/transport.ts'
import { type Logger, silentLogger } from './logger.ts'
import { createResourceClient } from './resource-client.ts'

export interface KubeClientOptions {
  config: KubeConfigSource
  log?: Logger
  clock?: Clock
  /** Uniform in [0, 1), for jitter. */
  random?: () => number
  /** Parts of the retry policy to change; `{ attempts: 1 }` never repeats. */
  retry?: Partial<RetryPolicy>
  /** Connections for calls. Watches, lists and logs have their own. Default 32. */
  connections?: number
  /** Longest time to connect. Default 10 s. */
  connectTimeoutMs?: number
  /** Longest silence while an answer is awaited or read. Default 65 s: the server gives up after 60. */
  requestTimeoutMs?: number
  /**
   * Silence after which a watch's connection counts as dead. Bookmarks come about once a minute, so the default is
   * 150 s.
   */
  watchIdleTimeoutMs?: number
  userAgent?: string
  /** Asked about every change, below repetition: one that may not be sent throws its `FencedError`. Default: none. */
  fence?: Fence
  /** Told about every request, each attempt by itself. Must not throw. */
  observer?: RequestObserver
}

/**
 * A client for one cluster and identity. Opens no connection by itself: a server that cannot be reached shows at
 * the first call. Dispose of it to close its connections; whatever still runs then fails.
 */
export async function createKubeClient(options: KubeClientOptions): Promise<KubeClient> {
  const { config, log = silentLogger, clock = systemClock, random = Math.random } = options
  const plain = createTransport({
    config,
    connections: options.connections ?? 32,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    requestTimeoutMs: options.requestTimeoutMs ?? 65_000,
    userAgent: options.userAgent ?? 'lateen',
    fence: options.fence ?? noFence,
  })
  const { observer } = options
  const transport = observer === undefined ? plain : observedTransport(plain, { observer, clock })
  const policy = { ...defaultRetryPolicy, ...options.retry }
  const invalidateCredentials = () => config.invalidate()
  const ports = { policy, clock, random, log, invalidateCredentials }
  const api = createApi(transport, ports, options.watchIdleTimeoutMs ?? 150_000)
  return {
    server: config.server,
    discovery: createDiscovery(api),
    resource: (type, namespace) => createResourceClient(api, type, namespace),
    getRaw: (path, { signal } = {}) =>
      api.text({ method: 'GET', path, subject: { verb: 'get', resource: path }, repeatable: true, signal }),
    exec: (pod, execOptions) => execInPod(api, pod, execOptions),
    logs: (pod, logOptions) => podLogs(api, pod, logOptions),
    portForward: (pod, forwardOptions) => forwardPort(api, pod, forwardOptions),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

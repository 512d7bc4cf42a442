import {
  type CallOptions,
  type Clock,
  isNotFound,
  type KubeClient,
  KubeError,
  type Logger,
  type ResourceClient,
  type Unstructured,
} from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import type { RequestGate } from './request-gate.ts'
import type { RestoreSink, SinkTarget } from './sink.ts'

export interface ClusterSinkOptions {
  client: KubeClient
  gate: RequestGate
  clock: Clock
  log: Logger
  /** For how long a request is repeated that fails because the server is busy or away. By default two minutes. */
  patienceMs?: number
}

const firstWaitMs = 250
const longestWaitMs = 5_000

/** Writes to a cluster. */
export function createClusterSink(options: ClusterSinkOptions): RestoreSink {
  const { client } = options
  const on = ({ type, namespace }: Omit<SinkTarget, 'name'>): ResourceClient<Unstructured> =>
    client.resource<Unstructured>(type, namespace === '' ? undefined : namespace)
  const call = <T>(send: () => Promise<T>, request: Repetition): Promise<T> =>
    patiently(send, request, options)
  return {
    writes: true,
    async create(target, object, { signal, fieldManager }) {
      const send = () => on(target).create(object as Unstructured, { signal, fieldManager })
      return { object: asItem(await call(send, { signal, once: true })) }
    },
    async read(target, { signal }) {
      try {
        return asItem(await call(() => on(target).get(target.name, { signal }), { signal }))
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw error
      }
    },
    async patch(target, patch, { signal, fieldManager }) {
      const send = () => on(target).patch(target.name, patch, { signal, fieldManager })
      return { object: asItem(await call(send, { signal })) }
    },
    async updateStatus(target, object, { signal, fieldManager }) {
      const write = { signal, fieldManager, subresource: 'status' }
      const send = () => on(target).update(object as Unstructured, write)
      return { object: asItem(await call(send, { signal })) }
    },
    async remove(target, { signal, uid }) {
      const remove = { signal, preconditions: { uid }, propagationPolicy: 'Orphan' } as const
      try {
        await call(() => on(target).delete(target.name, remove), { signal })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    },
    list: (target, { signal }) => on(target).listEncoded({ signal }),
  }
}

function asItem(object: Unstructured): ActionItem {
  return object as ActionItem
}

interface Repetition extends CallOptions {
  /** It must not be carried out twice. */
  once?: boolean
}

/**
 * Repeats what the client itself has given up, for as long as patience lasts: an API server that is upgraded is away for longer than
 * one call would wait.
 */
async function patiently<T>(
  send: () => Promise<T>,
  { signal, once = false }: Repetition,
  { gate, clock, log, patienceMs = 120_000 }: ClusterSinkOptions,
): Promise<T> {
  const giveUp = clock.now() + patienceMs
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
    try {
      return await gate.run(send, signal)
    } catch (error) {
      if (!(error instanceof KubeError) || !error.retryable || (once && error.mayHaveActed)) throw error
      const pauseMs = Math.max(waitMs, error.retryAfterMs ?? 0)
      if (clock.now() + pauseMs > giveUp) throw error
      log.debug({ error, pauseMs }, 'Repeating a request that the API server could not serve')
      await clock.sleep(pauseMs, signal)
    }
  }
}

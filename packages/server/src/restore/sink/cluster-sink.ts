import {
  type CallOptions,
  type Clock,
  type KubeClient,
  type Logger,
  patiently,
  type Unstructured,
  unlessNotFound,
} from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { refusalBehind, standInName } from './probe-create.ts'
import type { RequestGate } from './request-gate.ts'
import type { RestoreSink, SinkTarget } from './sink.ts'

export interface ClusterSinkOptions {
  client: KubeClient
  /** For lists, which do not pass the gate. By default the same. */
  lists?: KubeClient
  gate: RequestGate
  clock: Clock
  log: Logger
  /** For how long a request is repeated that fails because the server is busy or away. By default two minutes. */
  patienceMs?: number
  /** Nothing is written: the server only tells what it would do. */
  dryRun?: boolean
}

/** Writes to a cluster, unless all writes are to be dry runs. */
export function createClusterSink(options: ClusterSinkOptions): RestoreSink {
  const { client, gate, clock, log, patienceMs, dryRun = false } = options
  const resourceOf = (through: KubeClient, { type, namespace }: Omit<SinkTarget, 'name'>) =>
    through.resource<Unstructured>(type, namespace === '' ? undefined : namespace)
  const on = (target: Omit<SinkTarget, 'name'>) => resourceOf(client, target)
  const call = <T>(send: () => Promise<T>, request: Repetition): Promise<T> =>
    patiently(() => gate.run(send, request.signal), { ...request, clock, log, patienceMs })
  return {
    writes: !dryRun,
    async create(target, object, { signal, fieldManager }) {
      const send = () => on(target).create(object as Unstructured, { signal, fieldManager, dryRun })
      return { object: asItem(await call(send, { signal, once: true })) }
    },
    async read(target, { signal }) {
      const send = () => on(target).get(target.name, { signal })
      const found = await call(send, { signal }).catch(unlessNotFound)
      return found && asItem(found)
    },
    async patch(target, patch, { signal, fieldManager }) {
      const send = () => on(target).patch(target.name, patch, { signal, fieldManager, dryRun })
      return { object: asItem(await call(send, { signal })) }
    },
    async updateStatus(target, object, { signal, fieldManager }) {
      const write = { signal, fieldManager, subresource: 'status', dryRun }
      const send = () => on(target).update(object as Unstructured, write)
      return { object: asItem(await call(send, { signal })) }
    },
    async remove(target, { signal, uid }) {
      if (dryRun) return
      const remove = { signal, preconditions: { uid }, propagationPolicy: 'Orphan' } as const
      await call(() => on(target).delete(target.name, remove), { signal }).catch(unlessNotFound)
    },
    async probe(target, object, { signal, fieldManager }) {
      const { name } = target
      const standIn = standInName(name)
      const probed = { ...object, metadata: { ...object.metadata, name: standIn } } as Unstructured
      const send = () => on(target).create(probed, { signal, fieldManager, dryRun: true })
      try {
        await call(send, { signal })
      } catch (error) {
        signal?.throwIfAborted()
        const refusal = refusalBehind(error, { name, standIn })
        if (refusal !== undefined) throw refusal
      }
    },
    list: (target, { signal }) => resourceOf(options.lists ?? client, target).listEncoded({ signal }),
  }
}

function asItem(object: Unstructured): ActionItem {
  return object as ActionItem
}

interface Repetition extends CallOptions {
  /** It must not be carried out twice. */
  once?: boolean
}

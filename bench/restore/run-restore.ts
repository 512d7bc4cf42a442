import { type Restore, RestoreKind, type RestoreSpec } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import type { Contender } from '../backup/contenders.ts'
import { countRequests, requestsBetween } from '../backup/count-requests.ts'
import { type MemoryPeak, watchMemory } from '../backup/watch-memory.ts'
import { locationIsAvailable } from './prepare.ts'

/** One restore by one server, which was started for it. */
export interface Restored extends MemoryPeak {
  seconds: number
  items: number
  requests: ReadonlyMap<string, number>
}

export interface RestoreOrder {
  server: Contender
  /** Not used before. */
  name: string
  spec: RestoreSpec
}

/** Starts a server, has it restore, and ends it. Throws when the restore did not go well. */
export async function runRestore(
  { server, name, spec }: RestoreOrder,
  { cluster, client, signal }: { cluster: Cluster; client: KubeClient; signal: AbortSignal },
): Promise<Restored> {
  const { namespace } = server
  await using running = await server.start(cluster)
  await locationIsAvailable(client, namespace)
  const memory = watchMemory(running.pid)
  const before = await countRequests(cluster)
  const started = performance.now()
  const { metadata } = await client.resource(RestoreKind, namespace).create({
    apiVersion: 'velero.io/v1',
    kind: 'Restore',
    metadata: { name, namespace },
    spec,
  })
  const ended = await watchUntilEnded(client, { namespace, name, from: metadata.resourceVersion }, signal)
  const seconds = (performance.now() - started) / 1_000
  const after = await countRequests(cluster)
  const peak = await memory.stop()
  if (ended.status?.phase !== 'Completed') {
    const said = running.log?.filter(line => line.includes('level=error')).join('\n') ?? ''
    throw new Error(`${server.name}: the restore is ${JSON.stringify(ended.status)}\n${said}`)
  }
  const items = ended.status.progress?.itemsRestored ?? 0
  return { ...peak, seconds, items, requests: requestsBetween(before, after) }
}

/** One request, however long it takes, so that asking is not counted. */
async function watchUntilEnded(
  client: KubeClient,
  restore: { namespace: string; name: string; from: string | undefined },
  signal: AbortSignal,
): Promise<Restore> {
  const terminal = ['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation']
  const events = client.resource(RestoreKind, restore.namespace).watch({
    resourceVersion: restore.from,
    fieldSelector: `metadata.name=${restore.name}`,
    signal,
  })
  for await (const event of events) {
    if (event.type !== 'BOOKMARK' && terminal.includes(event.object.status?.phase ?? '')) return event.object
  }
  throw new Error('the watch ended')
}

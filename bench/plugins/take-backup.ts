import { type Backup, BackupKind, type BackupSpec } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import type { Contender } from '../backup/contenders.ts'
import { countRequests, requestsBetween } from '../backup/count-requests.ts'
import { type MemoryPeak, watchMemory } from '../backup/watch-memory.ts'
import { locationIsAvailable } from '../restore/prepare.ts'

/** One backup by one server, which was started for it. */
export interface Taken extends MemoryPeak {
  seconds: number
  items: number
  status: NonNullable<Backup['status']>
  /** From the phase in which it waits for plugins to its end; absent when it never waited. */
  waiting?: { seconds: number; writes: number }
}

export interface BackupOrder {
  server: Contender
  /** Not used before. */
  name: string
  spec: BackupSpec
}

const terminal = ['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation']
const writing = ['POST', 'PUT', 'PATCH', 'DELETE', 'APPLY']

/** Starts a server, has it take a backup, and ends it. Throws unless the backup is Completed. */
export async function takeBackup(
  { server, name, spec }: BackupOrder,
  { cluster, client, signal }: { cluster: Cluster; client: KubeClient; signal: AbortSignal },
): Promise<Taken> {
  const { namespace } = server
  await using running = await server.start(cluster)
  await locationIsAvailable(client, namespace)
  const memory = watchMemory(running.pid)
  const backups = client.resource(BackupKind, namespace)
  const started = performance.now()
  const made = await backups.create({
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace },
    spec,
  })
  let waited: { from: number; requests: ReadonlyMap<string, number> } | undefined
  const events = backups.watch({
    ...{ resourceVersion: made.metadata.resourceVersion, fieldSelector: `metadata.name=${name}`, signal },
  })
  for await (const event of events) {
    if (event.type === 'BOOKMARK') continue
    const { status } = event.object
    const phase = status?.phase ?? 'New'
    if (phase.startsWith('Waiting') && waited === undefined) {
      waited = { from: performance.now(), requests: await countRequests(cluster) }
    }
    if (status === undefined || !terminal.includes(phase)) continue
    const seconds = (performance.now() - started) / 1_000
    const waiting = waited && {
      seconds: (performance.now() - waited.from) / 1_000,
      writes: writesIn(requestsBetween(waited.requests, await countRequests(cluster))),
    }
    const peak = await memory.stop()
    if (phase !== 'Completed') throw new Error(`${server.name}: the backup is ${JSON.stringify(status)}`)
    const items = status.progress?.itemsBackedUp ?? 0
    return { ...peak, seconds, items, status, ...(waiting && { waiting }) }
  }
  throw new Error('the watch ended')
}

function writesIn(requests: ReadonlyMap<string, number>): number {
  return writing.reduce((sum, verb) => sum + (requests.get(verb) ?? 0), 0)
}

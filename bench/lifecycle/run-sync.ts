import {
  BackupKind,
  BackupStorageLocationKind,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
} from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import type { Contender } from '../backup/contenders.ts'
import { countRequests, requestsBetween } from '../backup/count-requests.ts'
import { type MemoryPeak, watchMemory } from '../backup/watch-memory.ts'
import type { CountingProxy } from './counting-proxy.ts'
import { copyName, isCopy } from './fill-bucket.ts'

export interface Measuring {
  cluster: Cluster
  client: KubeClient
  proxy: CountingProxy
  server: Contender
}

/** What one server did, and what it took. */
export interface Did extends MemoryPeak {
  seconds: number
  storeRequests: ReadonlyMap<string, number>
  apiRequests: ReadonlyMap<string, number>
}

const PATIENCE_MS = 3_600_000

/** Starts a server that finds so many backups in the bucket, and waits until the cluster has all of them. */
export async function runSync(at: Measuring, count: number): Promise<Did> {
  return measured(at, async () => {
    await until(at, async () => (await countBackups(at)) >= count)
    return performance.now() - (at.proxy.firstListing ?? Number.NaN)
  })
}

/** Starts a server for which the bucket has nothing new, and waits until it has looked. */
export async function runIdleSync(at: Measuring): Promise<Did> {
  const locations = at.client.resource(BackupStorageLocationKind, at.server.namespace)
  const before = (await locations.get('default')).status?.lastSyncedTime
  return measured(at, async () => {
    await until(at, async () => (await locations.get('default')).status?.lastSyncedTime !== before)
    return performance.now() - (at.proxy.firstListing ?? Number.NaN)
  })
}

/** Starts a server, requests the deletion of the first backups, all at once, and waits until they are gone. */
export async function runDeletions(at: Measuring, count: number, left: number): Promise<Did> {
  const { client, server } = at
  const { namespace } = server
  return measured(at, async () => {
    const started = performance.now()
    const backups = client.resource(BackupKind, namespace)
    for (let number = 0; number < count; number += 1) {
      const { metadata } = await backups.get(copyName(number))
      await client
        .resource(DeleteBackupRequestKind, namespace)
        .create(requestFor(namespace, metadata.name ?? '', metadata.uid ?? ''))
    }
    await until(at, async () => (await countBackups(at)) <= left)
    return performance.now() - started
  })
}

async function measured(at: Measuring, work: () => Promise<number>): Promise<Did> {
  const { cluster, proxy, server } = at
  proxy.reset()
  const before = await countRequests(cluster)
  await using running = await server.start(cluster)
  const memory = watchMemory(running.pid)
  const ms = await work()
  const peak = await memory.stop()
  const storeRequests = new Map(proxy.counts)
  const apiRequests = requestsBetween(before, await countRequests(cluster))
  return { ...peak, seconds: ms / 1_000, storeRequests, apiRequests }
}

/** Copies that the cluster has. */
async function countBackups({ client, server }: Measuring): Promise<number> {
  let count = 0
  for await (const { metadata } of client.resource(BackupKind, server.namespace).list()) {
    if (isCopy(metadata.name ?? '')) count += 1
  }
  return count
}

function until({ server }: Measuring, accepts: () => Promise<boolean>): Promise<unknown> {
  return waitUntil(async () => (await accepts()) || undefined, {
    timeoutMs: PATIENCE_MS,
    failure: () => new Error(`${server.name} does not get there`),
    everyMs: 250,
  })
}

function requestFor(namespace: string, backupName: string, uid: string): DeleteBackupRequest {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'DeleteBackupRequest',
    metadata: {
      generateName: `${backupName}-`,
      namespace,
      labels: { 'velero.io/backup-name': backupName, 'velero.io/backup-uid': uid },
    },
    spec: { backupName },
  }
}

import { type Backup, BackupKind } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import type { Contender } from '../backup/contenders.ts'
import { available } from '../backup/prepare-locations.ts'
import { proxyCluster, writesBetween } from './proxied-cluster.ts'

/** A backup of claims with snapshots of their volumes. */
export interface SnapshotsTaken {
  /** From creating the Backup until it is Completed. */
  readonly seconds: number
  /** From InProgress until all items were stored: as long as workers had something to do, or something to wait for. */
  readonly busySeconds: number
  /** How long it was in each phase. */
  readonly phases: readonly string[]
  readonly snapshots: number
  /** By method and resource; undefined unless they were counted. */
  readonly writes?: ReadonlyMap<string, number>
}

export interface TakePorts {
  cluster: Cluster
  client: KubeClient
  /** For a kubeconfig. */
  folder: string
  signal: AbortSignal
}

export interface TakeOptions {
  name: string
  workload: string
  /** Whether volumes are snapshotted, or claims only stored. Default: they are. */
  snapshots?: boolean
  /** Has the server talk to the API server through a proxy that counts. It takes time of its own. */
  counted?: boolean
}

/** Starts a server, has it take a backup, and ends it. Throws when the backup does not end well. */
export async function takeSnapshots(
  server: Contender,
  { name, workload, snapshots = true, counted = false }: TakeOptions,
  { cluster, client, folder, signal }: TakePorts,
): Promise<SnapshotsTaken> {
  const { namespace } = server
  await using proxy = counted ? await proxyCluster(cluster, folder) : undefined
  await using _running = await server.start({
    s3: cluster.s3,
    kubeconfigPath: proxy?.kubeconfigPath ?? cluster.kubeconfigPath,
  })
  await available(client, namespace)
  const before = proxy?.writes()
  const started = performance.now()
  const { metadata } = await client.resource(BackupKind, namespace).create({
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace },
    spec: { includedNamespaces: [workload], snapshotVolumes: snapshots },
  })
  const times = await phasesUntilEnd(client, { namespace, name, from: metadata.resourceVersion }, signal)
  const seconds = (times.endedAt - started) / 1_000
  const { status } = times.ended
  if (status?.phase !== 'Completed') throw new Error(`${server.name}: ${name} is ${JSON.stringify(status)}`)
  return {
    seconds,
    busySeconds: times.busySeconds,
    phases: times.told,
    snapshots: status.csiVolumeSnapshotsCompleted ?? 0,
    ...(proxy && before && { writes: writesBetween(before, proxy.writes()) }),
  }
}

interface PhaseTimes {
  ended: Backup
  endedAt: number
  busySeconds: number
  told: string[]
}

/** One request, however long it takes, so that asking is no load. */
async function phasesUntilEnd(
  client: KubeClient,
  backup: { namespace: string; name: string; from: string | undefined },
  signal: AbortSignal,
): Promise<PhaseTimes> {
  const events = client.resource(BackupKind, backup.namespace).watch({
    resourceVersion: backup.from,
    fieldSelector: `metadata.name=${backup.name}`,
    signal,
  })
  const seen: { phase: string; at: number }[] = [{ phase: 'New', at: performance.now() }]
  for await (const event of events) {
    if (event.type === 'BOOKMARK') continue
    const phase = event.object.status?.phase ?? 'New'
    if (seen.at(-1)?.phase !== phase) seen.push({ phase, at: performance.now() })
    if (!ends.includes(phase)) continue
    const lasted = seen.slice(0, -1).map(({ phase: each, at }, index) => ({
      phase: each,
      seconds: ((seen[index + 1]?.at ?? at) - at) / 1_000,
    }))
    return {
      ended: event.object,
      endedAt: seen.at(-1)?.at ?? 0,
      busySeconds: lasted.find(each => each.phase === 'InProgress')?.seconds ?? 0,
      told: lasted.map(each => `${each.phase} ${each.seconds.toFixed(2)} s`),
    }
  }
  throw new Error('the watch ended')
}

const ends = ['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation']

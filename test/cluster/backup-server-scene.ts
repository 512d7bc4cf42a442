import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { RestoreKind } from '@lateen/api'
import { createKubeClient, type KubeClient, loadKubeConfig, unlessNotFound } from '@lateen/kube'
import type { ServerOptions } from '@lateen/server'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { BackupBucket } from './backup-bucket.ts'
import { Backups, createLocation, type LocationInBucket } from './backups.ts'
import { Restores } from './restores.ts'
import { Locations, prepareCluster, type RunningServer, startServer } from './storage-location-harness.ts'

/** A namespace for a server, with a location in the bucket, and another one with things to back up. */
export interface ServerScene extends AsyncDisposable {
  readonly cluster: Cluster
  readonly client: KubeClient
  readonly namespace: string
  /** Where the things to back up are. */
  readonly data: string
  /** Where the server keeps what it works on. */
  readonly scratch: string
  readonly backups: Backups
  readonly restores: Restores
  readonly locations: Locations
  readonly bucket: BackupBucket
  /** Starts the server and waits until its location is Available. One that still runs in the end is killed. */
  start(options?: Partial<ServerOptions>): Promise<RunningServer>
}

/** Prepares a cluster for the tests of one file. Disposing removes all of it. */
export async function openServerScene(
  cluster: Cluster,
  name: string,
  location: Partial<LocationInBucket> = {},
): Promise<ServerScene> {
  const namespace = `${name}-${process.pid}`
  const data = `${namespace}-data`
  const scratch = path.join(tmpdir(), `lateen-${namespace}`)
  await prepareCluster(cluster, namespace)
  await cluster.kubectl(['create', 'namespace', data])
  const client = await createKubeClient({ config: await loadKubeConfig({ path: cluster.kubeconfigPath }) })
  await createLocation({ cluster, client, namespace }, { prefix: namespace, ...location })
  const locations = new Locations(client, namespace)
  const bucket = new BackupBucket(cluster, namespace)
  const running: RunningServer[] = []
  return {
    ...{ cluster, client, namespace, data, scratch, locations, bucket },
    backups: new Backups(client, namespace),
    restores: new Restores(client, namespace),
    async start(options = {}) {
      const kubeconfig = cluster.kubeconfigPath
      const server = await startServer({ namespace, kubeconfig, scratchFolder: scratch, ...options })
      running.push(server)
      await locations.available('default')
      return server
    },
    async [Symbol.asyncDispose]() {
      for (const server of running) await server[Symbol.asyncDispose]()
      await letRestoresGo(client, namespace)
      await cluster.kubectl(['delete', 'namespace', namespace, data, '--wait=false'])
      await client[Symbol.asyncDispose]()
      bucket[Symbol.dispose]()
      await rm(scratch, { recursive: true, force: true })
    },
  }
}

/** Without a server nobody removes their files, and they would hold the namespace. */
async function letRestoresGo(client: KubeClient, namespace: string): Promise<void> {
  const restores = client.resource(RestoreKind, namespace)
  for await (const { metadata } of restores.list()) {
    const patch = { type: 'merge', body: { metadata: { finalizers: null } } } as const
    // One that was being deleted may have gone meanwhile.
    await restores.patch(metadata.name ?? '', patch).catch(unlessNotFound)
  }
}

/** Makes ConfigMaps `<name>-0`, `<name>-1`, … with `bytes` of data each. */
export async function createConfigMaps(
  { cluster, data }: Pick<ServerScene, 'cluster' | 'data'>,
  { name = 'plain', count, bytes }: { name?: string; count: number; bytes: number },
): Promise<void> {
  const items = Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-${index}`, namespace: data },
    data: { text: 'x'.repeat(bytes) },
  }))
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await cluster.kubectl(['create', '-f', '-'], { stdin })
}

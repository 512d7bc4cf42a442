import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { tools } from '../../tools/binaries/tool.ts'
import { ToolError } from '../../tools/binaries/tool-error.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { startVeleroServer } from '../../tools/velero/velero-server.ts'
import { BackupBucket } from '../cluster/backup-bucket.ts'
import { Backups, createLocation } from '../cluster/backups.ts'
import { installKinds, Locations, startServer } from '../cluster/storage-location-harness.ts'

/** One of the two servers, with its namespace and its part of the bucket. */
export interface Side {
  readonly namespace: string
  readonly backups: Backups
  readonly bucket: BackupBucket
}

/** A Lateen server and a Velero server on one cluster, each in a namespace of its own. */
export interface BackupPair extends AsyncDisposable {
  readonly client: KubeClient
  readonly ours: Side
  readonly theirs: Side
}

/** False, or why this machine has no Velero. */
export async function veleroMissing(): Promise<false | string> {
  try {
    await tools(['velero', 'velero-plugin-for-aws'])
    return false
  } catch (error) {
    if (error instanceof ToolError) return error.message
    throw error
  }
}

/** Starts both servers and waits until their locations are Available. Both get the feature flags. */
export async function startPair(cluster: Cluster, features: readonly string[] = []): Promise<BackupPair> {
  await using starting = new AsyncDisposableStack()
  const client = starting.use(
    await createKubeClient({ config: await loadKubeConfig({ path: cluster.kubeconfigPath }) }),
  )
  await installKinds(cluster)
  const openSide = async (namespace: string, secret: boolean): Promise<Side> => {
    const place = { cluster, client, namespace }
    const isNew = (await cluster.kubectl(['get', 'namespace', namespace, '--ignore-not-found'])) === ''
    if (isNew) {
      await cluster.kubectl(['create', 'namespace', namespace])
      await createLocation(place, { prefix: namespace, secret })
    }
    const bucket = starting.use(new BackupBucket(cluster, namespace))
    return { namespace, backups: new Backups(client, namespace), bucket }
  }
  const ours = await openSide('lateen-server', true)
  // Velero writes credentials from a Secret to a file again and again while its plugin reads it, and now and then the plugin finds none.
  const theirs = await openSide('velero-server', false)
  starting.use(
    await startVeleroServer({
      cluster,
      namespace: theirs.namespace,
      flags: ['--client-qps=1000', '--client-burst=2000', `--features=${features.join()}`],
    }),
  )
  starting.use(await startServer({ namespace: ours.namespace, kubeconfig: cluster.kubeconfigPath, features }))
  for (const { namespace } of [ours, theirs]) await new Locations(client, namespace).available('default')
  const running = starting.move()
  return { client, ours, theirs, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

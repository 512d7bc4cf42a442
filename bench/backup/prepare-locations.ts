import { allKinds, BackupStorageLocationKind, crdFor } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import type { Contender } from './contenders.ts'

/** Makes the kinds known, and for each server a namespace with a location in the cluster's bucket. */
export async function prepareLocations(
  { cluster, client }: { cluster: Cluster; client: KubeClient },
  servers: readonly Contender[],
): Promise<void> {
  await installKinds(cluster)
  for (const { namespace } of servers) {
    await cluster.kubectl(['create', 'namespace', namespace])
    await createLocation({ cluster, client }, { namespace, prefix: namespace })
  }
}

/** Makes the kinds known. */
export async function installKinds({ kubectl }: Cluster): Promise<void> {
  const items = allKinds.map(crdFor)
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await kubectl(['apply', '--server-side', '-f', '-'], { stdin })
  await kubectl([
    ...['wait', '--for=condition=Established', '--timeout=60s'],
    ...items.map(({ metadata }) => `crd/${metadata.name}`),
  ])
}

/** Makes the default location of a namespace, in the cluster's bucket below a prefix. */
export async function createLocation(
  { cluster, client }: { cluster: Cluster; client: KubeClient },
  { namespace, prefix }: { namespace: string; prefix: string },
): Promise<void> {
  const { bucket, region, endpoint } = cluster.s3
  await client.resource(BackupStorageLocationKind, namespace).create({
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'default', namespace },
    spec: {
      provider: 'aws',
      default: true,
      objectStorage: { bucket, prefix },
      config: { region, s3ForcePathStyle: 'true', s3Url: endpoint },
    },
  })
}

/** Waits until a location is Available: it counts again only when the server that runs now has looked at it. */
export async function available(client: KubeClient, namespace: string): Promise<void> {
  const locations = client.resource(BackupStorageLocationKind, namespace)
  await waitUntil(async () => (await locations.get('default')).status?.phase === 'Available', {
    timeoutMs: 120_000,
    failure: () => new Error(`the location of ${namespace} is not Available`),
  })
}

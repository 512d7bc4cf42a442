import { type Backup, BackupKind, BackupStorageLocationKind } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import type { Contender } from '../backup/contenders.ts'
import { benchNamespaces } from '../backup/make-objects.ts'
import { createLocation, installKinds } from '../backup/prepare-locations.ts'

/**
 * Installs the kinds, and gives every server a namespace with a location. All locations are one place in the bucket unless `prefixOf`
 * says otherwise.
 */
export async function prepareServers(
  { cluster, client }: { cluster: Cluster; client: KubeClient },
  servers: readonly Contender[],
  prefixOf: (namespace: string) => string = () => 'bench',
): Promise<void> {
  await installKinds(cluster)
  for (const namespace of new Set(servers.map(server => server.namespace))) {
    await cluster.kubectl(['create', 'namespace', namespace])
    await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(deploymentIn(namespace)) })
    await createLocation({ cluster, client }, { namespace, prefix: prefixOf(namespace) })
  }
}

/** An action of Velero reads the image of its own server here. */
function deploymentIn(namespace: string) {
  const labels = { component: 'velero' }
  const containers = [{ name: 'velero', image: 'velero/velero:v1.18.3' }]
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'velero', namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  }
}

/** A location counts again only when the server that runs now has looked at it. */
export async function locationIsAvailable(client: KubeClient, namespace: string): Promise<void> {
  const locations = client.resource(BackupStorageLocationKind, namespace)
  await waitUntil(async () => (await locations.get('default')).status?.phase === 'Available', {
    timeoutMs: 120_000,
    failure: () => new Error(`the location of ${namespace} is not Available`),
  })
}

/** Has one server back up the namespaces, and tells the others of it. Returns how many items it holds. */
export async function makeBackup(
  name: string,
  { by, others }: { by: Contender; others: readonly Contender[] },
  { cluster, client }: { cluster: Cluster; client: KubeClient },
): Promise<number> {
  await using _running = await by.start(cluster)
  await locationIsAvailable(client, by.namespace)
  const backups = client.resource(BackupKind, by.namespace)
  await backups.create(backupIn(by.namespace, name))
  const { metadata, spec, status } = await waitUntil(
    async () => {
      const backup = await backups.get(name)
      return backup.status?.completionTimestamp === undefined ? undefined : backup
    },
    { timeoutMs: 1_200_000, failure: () => new Error('the backup does not end'), everyMs: 500 },
  )
  if (status?.phase !== 'Completed') throw new Error(`the backup is ${JSON.stringify(status)}`)
  const { labels = {}, annotations = {} } = metadata
  for (const namespace of new Set(others.map(other => other.namespace))) {
    if (namespace === by.namespace) continue
    const copy = backupIn(namespace, name)
    const described = { ...copy.metadata, labels, annotations }
    await client.resource(BackupKind, namespace).create({ ...copy, metadata: described, spec, status })
  }
  return status.progress?.itemsBackedUp ?? 0
}

function backupIn(namespace: string, name: string): Backup {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace },
    spec: { includedNamespaces: benchNamespaces, storageLocation: 'default' },
  }
}

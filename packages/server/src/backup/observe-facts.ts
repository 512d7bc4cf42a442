import { type Backup, BackupStorageLocationKind, VolumeSnapshotLocationKind } from '@lateen/api'
import { builtInKind, type KubeClient, type KubeObject } from '@lateen/kube'
import { configMapData } from '../filters/policies/config-map-data.ts'
import type { NamespaceFacts } from '../filters/scope.ts'
import type { BackupFacts } from './prepare/prepare-backup.ts'

/** Where a backup's facts are looked up. */
export interface FactPorts {
  client: KubeClient
  /** Of the server's own objects. */
  namespace: string
  /** The ConfigMap with volume policies for all backups; empty: none. */
  globalVolumePolicies: string
  signal: AbortSignal
}

interface Namespace extends KubeObject {
  status?: { phase?: string }
}

const NamespaceKind = builtInKind<Namespace>('Namespace')

const excludeLabel = 'velero.io/exclude-from-backup'

/** Reads what `prepareBackup` needs to know. Throws KubeErrors when the API server does not answer. */
export async function observeFacts(backup: Backup, ports: FactPorts): Promise<BackupFacts> {
  const { client, namespace, signal } = ports
  const locations = await client.resource(BackupStorageLocationKind, namespace).list({ signal }).toArray()
  const snapshotLocations = await client
    .resource(VolumeSnapshotLocationKind, namespace)
    .list({ signal })
    .toArray()
  return { locations, snapshotLocations, ...(await observeCluster(backup, ports)) }
}

/** The facts that a cluster has without a server of ours in it. */
export async function observeCluster(
  backup: Backup,
  ports: FactPorts,
): Promise<Omit<BackupFacts, 'locations' | 'snapshotLocations'>> {
  const { client, globalVolumePolicies, signal } = ports
  const excluded = client.resource(NamespaceKind).list({ labelSelector: `${excludeLabel}=true`, signal })
  // Kinds may have come and gone since the last backup.
  await client.discovery.refresh({ signal })
  return {
    excludedNamespaces: (await excluded.toArray()).map(({ metadata }) => metadata.name ?? ''),
    serverVersion: JSON.parse(await client.getRaw('/version', { signal })),
    discovery: await client.discovery.all({ signal }),
    policies: await configMapData(backup.spec.resourcePolicy?.name ?? '', ports),
    globalPolicies: await configMapData(globalVolumePolicies, ports),
  }
}

/** Every namespace, as far as filters look at it. */
export async function observeNamespaces(
  client: KubeClient,
  options: { signal: AbortSignal },
): Promise<NamespaceFacts[]> {
  const found: NamespaceFacts[] = []
  for await (const { metadata, status } of client.resource(NamespaceKind).list(options)) {
    found.push({ name: metadata.name ?? '', labels: metadata.labels, phase: status?.phase ?? '' })
  }
  return found
}

import { type Backup, BackupKind, type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import { type KubeClient, unlessNotFound } from '@lateen/kube'

/** Where a backup is stored; undefined when the backup or its location does not exist any more. Throws other KubeErrors. */
export async function locationOfBackup(
  { namespace, name }: { namespace: string | undefined; name: string },
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<BackupStorageLocation | undefined> {
  const backup = await client.resource(BackupKind, namespace).get(name, { signal }).catch(unlessNotFound)
  return backup && storageLocationOf(backup, { client, signal })
}

/** Where a backup is stored; undefined when its location does not exist any more. Throws other KubeErrors. */
export function storageLocationOf(
  { metadata, spec }: Backup,
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<BackupStorageLocation | undefined> {
  const locations = client.resource(BackupStorageLocationKind, metadata.namespace)
  return locations.get(spec.storageLocation ?? '', { signal }).catch(unlessNotFound)
}

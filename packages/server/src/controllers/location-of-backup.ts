import { BackupKind, type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import { type KubeClient, unlessNotFound } from '@lateen/kube'

/** Where a backup is stored; undefined when the backup or its location does not exist any more. Throws other KubeErrors. */
export async function locationOfBackup(
  { namespace, name }: { namespace: string | undefined; name: string },
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<BackupStorageLocation | undefined> {
  const backup = await client.resource(BackupKind, namespace).get(name, { signal }).catch(unlessNotFound)
  if (backup === undefined) return undefined
  const locations = client.resource(BackupStorageLocationKind, namespace)
  return locations.get(backup.spec.storageLocation ?? '', { signal }).catch(unlessNotFound)
}

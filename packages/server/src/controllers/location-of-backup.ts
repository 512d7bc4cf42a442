import { BackupKind, type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import { isNotFound, type KubeClient } from '@lateen/kube'

/** Where a backup is stored; undefined when the backup or its location does not exist any more. Throws other KubeErrors. */
export async function locationOfBackup(
  { namespace, name }: { namespace: string | undefined; name: string },
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<BackupStorageLocation | undefined> {
  try {
    const { spec } = await client.resource(BackupKind, namespace).get(name, { signal })
    const locations = client.resource(BackupStorageLocationKind, namespace)
    return await locations.get(spec.storageLocation ?? '', { signal })
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

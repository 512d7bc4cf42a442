import {
  type BackupStorageLocation,
  BackupStorageLocationKind,
  lateenAnnotation,
  type Restore,
} from '@lateen/api'
import { type KubeClient, unlessNotFound } from '@lateen/kube'
import { locationOfBackup } from './location-of-backup.ts'

/** On a restore that has begun: the location of its files. Its backup, which knows that, too, may go before it. */
const locationAnnotation = lateenAnnotation('storage-location')

/** The restore with its location noted on it. */
export function withNotedLocation(restore: Restore, location: BackupStorageLocation | undefined): Restore {
  if (location?.metadata.name === undefined) return restore
  const annotations = { ...restore.metadata.annotations, [locationAnnotation]: location.metadata.name }
  return { ...restore, metadata: { ...restore.metadata, annotations } }
}

/** The name of the location that was noted on a restore. */
export function notedLocation({ metadata }: Restore): string | undefined {
  return metadata.annotations?.[locationAnnotation] || undefined
}

/**
 * Where the files of a restore are: where its backup is, or, when that or its location does not exist any more, where the restore began. Undefined
 * when that location is gone, too. Throws KubeErrors.
 */
export async function locationOfRestore(
  restore: Restore,
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<BackupStorageLocation | undefined> {
  const { namespace } = restore.metadata
  const backup = restore.spec.backupName ?? ''
  const ofBackup = backup && (await locationOfBackup({ namespace, name: backup }, { client, signal }))
  if (ofBackup) return ofBackup
  const noted = notedLocation(restore)
  if (noted === undefined) return undefined
  return client.resource(BackupStorageLocationKind, namespace).get(noted, { signal }).catch(unlessNotFound)
}

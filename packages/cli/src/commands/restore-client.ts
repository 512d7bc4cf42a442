import { BackupKind, type Restore, RestoreKind } from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import { type KindWords, type ObjectClient, objectClient, type Place } from './object-client.ts'

/** Restores of one namespace, with failures put into words. */
export type RestoreClient = ObjectClient<Restore>

const words: KindWords = {
  one: 'restore',
  many: 'restores',
  missingHint: "'lateen restore get' lists those that do",
  takenHint: name => `choose another name, or delete it first with 'lateen restore delete ${name}'`,
}

/** Opens the restores of a namespace. All verbs throw CliErrors for what is missing or in the way. */
export function restoreClient(place: Place): RestoreClient {
  return objectClient(RestoreKind, place, words)
}

/** Where the files of a restore are: at its backup's location, which is not known when the backup is gone. */
export function locationOfRestore({ spec }: Restore, place: Place): () => Promise<string | undefined> {
  const { client, namespace, signal } = place
  return async () => {
    if (!spec.backupName) return undefined
    const backups = client.resource(BackupKind, namespace)
    const backup = await backups.get(spec.backupName, { signal }).catch(unlessNotFound)
    return backup?.spec.storageLocation
  }
}

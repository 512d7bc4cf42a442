import { type Backup, BackupKind } from '@lateen/api'
import { type KindWords, type ObjectClient, objectClient, type Place } from './object-client.ts'

/** Backups of one namespace, with failures put into words. */
export type BackupClient = ObjectClient<Backup>

const backupWords: KindWords = {
  one: 'backup',
  many: 'backups',
  missingHint: "'lateen backup get' lists those that do",
  takenHint: name => `choose another name, or delete it first with 'lateen backup delete ${name}'`,
}

/** Opens the backups of a namespace. All verbs throw CliErrors for what is missing or in the way. */
export function backupClient(place: Place): BackupClient {
  return objectClient(BackupKind, place, backupWords)
}

/** Where the files of a backup are. */
export function locationOf({ spec }: Backup): () => Promise<string | undefined> {
  return async () => spec.storageLocation
}

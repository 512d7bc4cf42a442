import { type BackupStorageLocation, BackupStorageLocationKind } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import { type KindWords, type ObjectClient, objectClient } from './object-client.ts'

/** Backup storage locations of one namespace, with failures put into words. */
export type LocationClient = ObjectClient<BackupStorageLocation>

const words: KindWords = {
  one: 'backup storage location',
  many: 'backup storage locations',
  missingHint: "'lateen backup-location get' lists those that do",
  takenHint: name => `choose another name, or change it with 'lateen backup-location set ${name}'`,
}

/** Opens the locations of a namespace. All verbs throw CliErrors for what is missing or in the way. */
export function locationClient(client: KubeClient, namespace: string, signal: AbortSignal): LocationClient {
  return objectClient(BackupStorageLocationKind, { client, namespace, signal }, words)
}

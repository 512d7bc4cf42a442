import {
  type Backup,
  BackupKind,
  type Schedule,
  ScheduleKind,
  type VolumeSnapshotLocation,
  VolumeSnapshotLocationKind,
} from '@lateen/api'
import { type KindWords, type ObjectClient, objectClient, type Place } from './object-client.ts'

/** Backups of one namespace, with failures put into words. */
export type BackupClient = ObjectClient<Backup>

const backupWords: KindWords = {
  one: 'backup',
  many: 'backups',
  missingHint: "'lateen backup get' lists those that do",
  takenHint: name => `choose another name, or delete it first with 'lateen backup delete ${name}'`,
}

const scheduleWords: KindWords = {
  one: 'schedule',
  many: 'schedules',
  missingHint: "'kubectl get schedules.velero.io' lists those that do",
  takenHint: () => 'choose another name',
}

const snapshotLocationWords: KindWords = {
  one: 'volume snapshot location',
  many: 'volume snapshot locations',
  missingHint: "'kubectl get volumesnapshotlocations.velero.io' lists those that do",
  takenHint: () => 'choose another name',
}

/** Opens the backups of a namespace. All verbs throw CliErrors for what is missing or in the way. */
export function backupClient(place: Place): BackupClient {
  return objectClient(BackupKind, place, backupWords)
}

/** Opens the schedules of a namespace, likewise. */
export function scheduleClient(place: Place): ObjectClient<Schedule> {
  return objectClient(ScheduleKind, place, scheduleWords)
}

/** Opens the volume snapshot locations of a namespace, likewise. */
export function snapshotLocationClient(place: Place): ObjectClient<VolumeSnapshotLocation> {
  return objectClient(VolumeSnapshotLocationKind, place, snapshotLocationWords)
}

/** Where the files of a backup are. */
export function locationOf({ spec }: Backup): () => Promise<string | undefined> {
  return async () => spec.storageLocation
}

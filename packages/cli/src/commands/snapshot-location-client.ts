import { type VolumeSnapshotLocation, VolumeSnapshotLocationKind } from '@lateen/api'
import { type KindWords, type ObjectClient, objectClient, type Place } from './object-client.ts'

const words: KindWords = {
  one: 'volume snapshot location',
  many: 'volume snapshot locations',
  missingHint: "'lateen snapshot-location get' lists those that do",
  takenHint: () => 'choose another name',
}

/** Opens the volume snapshot locations of a namespace. All verbs throw CliErrors for what is missing or in the way. */
export function snapshotLocationClient(place: Place): ObjectClient<VolumeSnapshotLocation> {
  return objectClient(VolumeSnapshotLocationKind, place, words)
}

import { createHash } from 'node:crypto'
import { type BackupStorageLocation, lateenAnnotation } from '@lateen/api'

/** On BackupRepositories: the place that they were last opened at, so that a location that has changed is noticed by the next server too. */
export const placeAnnotation = lateenAnnotation('opened-at')

/** A short text that differs when something differs that decides where a repository is and how it is reached. */
export function locationPlace({ spec }: BackupStorageLocation): string {
  const { bucket, prefix = '', caCert = '', caCertRef } = spec.objectStorage
  const config = Object.entries(spec.config ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  const credential = spec.credential ?? {}
  const parts = [spec.provider, bucket, prefix, caCert, caCertRef ?? {}, config, credential]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

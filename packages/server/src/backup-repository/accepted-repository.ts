import type { BackupStorageLocation } from '@lateen/api'
import { RepositoryError } from './repository-error.ts'
import { resticIdentifier } from './restic-identifier.ts'

/** Buckets. Restic takes other addresses too: folders of this machine, and programs to start. */
const inBucket = /^(s3|azure|gs):[^\s\p{Cc}]+$/u

/**
 * The address of a repository as Velero wrote it into an object; that of its location where the object has none. Throws
 * `INVALID_LOCATION` for one that is neither in a bucket nor the location's own, and as `resticIdentifier` does.
 */
export function acceptedRepository(
  written: string,
  location: BackupStorageLocation,
  volumeNamespace: string,
): string {
  if (inBucket.test(written)) return written
  const own = resticIdentifier(location, volumeNamespace)
  if (written === '' || written === own) return own
  throw new RepositoryError('INVALID_LOCATION', {
    reason: `the repository ${JSON.stringify(written.slice(0, 200))} is neither in a bucket nor where the location ${location.metadata.name} has its own`,
    hint: `It should be ${own}`,
  })
}

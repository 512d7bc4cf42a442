import type { BackupStorageLocation } from '@lateen/api'
import { bucketLayout } from '../backup-store/bucket-layout.ts'
import { bucketName } from '../backup-store/open-location.ts'
import { RepositoryError } from './repository-error.ts'
import { requireNamespace } from './repository-options.ts'

/**
 * How restic calls the repository of a namespace in a location, as Velero writes it into `resticIdentifier` and `repoIdentifier`. Throws
 * `PROVIDER_UNSUPPORTED`, and `INVALID_LOCATION` for an S3 location that names neither server nor region, for a
 * prefix of its own that is no address on a network, and for what is no namespace.
 */
export function resticIdentifier(location: BackupStorageLocation, volumeNamespace: string): string {
  requireNamespace(volumeNamespace)
  const { provider, config = {}, objectStorage } = location.spec
  const ownPrefix = config?.resticRepoPrefix
  if (ownPrefix) return `${onNetwork(ownPrefix).replace(/\/$/, '')}/${volumeNamespace}`
  const bucket = bucketName(objectStorage.bucket)
  const folder = bucketLayout(objectStorage.prefix).resticFolder(volumeNamespace).slice(0, -1)
  const name = provider.replace(/^velero\.io\//, '')
  if (name === 'azure') return `azure:${bucket}:/${folder}`
  if (name === 'gcp') return `gs:${bucket}:/${folder}`
  if (name === 'filesystem') return `${(config?.path ?? '').replace(/\/$/, '')}/${bucket}/${folder}`
  if (name === 'aws' || config?.s3Url) return `s3:${serverOf(config ?? {})}/${bucket}/${folder}`
  throw new RepositoryError('PROVIDER_UNSUPPORTED', {
    reason: `restic cannot reach locations of the provider ${JSON.stringify(provider)}`,
    hint: 'Set config.resticRepoPrefix of the location to what restic calls it',
  })
}

/** Restic takes other addresses too, folders of this machine and programs to start, which no location may choose. */
function onNetwork(prefix: string): string {
  if (/^(s3|azure|gs|rest|swift|b2):[^\s\p{Cc}]+$/u.test(prefix)) return prefix
  throw new RepositoryError('INVALID_LOCATION', {
    reason: `config.resticRepoPrefix ${JSON.stringify(prefix.slice(0, 200))} is no address on a network`,
    hint: 'It begins with s3:, azure:, gs:, rest:, swift: or b2:',
  })
}

function serverOf({ s3Url, region }: Readonly<Record<string, string>>): string {
  if (s3Url) return s3Url.replace(/\/$/, '')
  if (region) return `s3-${region}.amazonaws.com`
  throw new RepositoryError('INVALID_LOCATION', {
    reason: 'the location has neither config.region nor config.s3Url, which restic needs',
    hint: 'Set one of them',
  })
}

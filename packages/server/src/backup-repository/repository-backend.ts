import type { BackupStorageLocation } from '@lateen/api'
import { RepositoryError } from './repository-error.ts'

/** The storages that repositories can lie in. */
export type RepositoryBackend = 's3' | 'filesystem'

/**
 * Where the repositories of a location are. As in Velero, any provider with an `s3Url` is taken for S3. Throws `PROVIDER_UNSUPPORTED`
 * naming the provider.
 */
export function repositoryBackend({ spec }: BackupStorageLocation): RepositoryBackend {
  const provider = spec.provider.replace(/^velero\.io\//, '')
  if (provider === 'filesystem') return 'filesystem'
  if (provider === 'aws' || spec.config?.s3Url) return 's3'
  throw new RepositoryError('PROVIDER_UNSUPPORTED', {
    reason: `volume data cannot be kept in locations of the provider ${JSON.stringify(spec.provider)}`,
    hint: 'Use a location of the provider aws (any S3 server) or filesystem for backups of volumes',
  })
}

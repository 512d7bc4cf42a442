import path from 'node:path'
import type { BackupRepositoryKey, BackupStorageLocation } from '@lateen/api'
import { GeneralOption, type RepoOptions, StorageOption, StorageType } from '@lateen/repo/unified'
import { bucketLayout } from '../backup-store/bucket-layout.ts'
import { bucketName } from '../backup-store/open-location.ts'
import { repositoryBackend } from './repository-backend.ts'
import { RepositoryError } from './repository-error.ts'

/** All that decides where the native repository of a namespace lies and how it is opened. */
export interface RepositoryFacts {
  readonly location: BackupStorageLocation
  readonly key: BackupRepositoryKey
  readonly password: string
  /** PEM; of the location. */
  readonly caCert?: string | undefined
  /** Of the bucket, where that matters. */
  readonly region?: string | undefined
  /** `spec.repositoryConfig` of the BackupRepository. */
  readonly config?: Readonly<Record<string, string>> | null | undefined
  /** Where what is read from S3 is kept; nothing is when absent. */
  readonly cacheFolder?: string | undefined
  /** Whether file data is kept there too, and not only metadata; so unless told. */
  readonly cacheContents?: boolean | undefined
}

/** Where Velero, too, would look for the repository. Throws a `RepositoryError` for a location that cannot hold one. */
export function repositoryOptions(facts: RepositoryFacts): RepoOptions {
  const { location, key, config } = facts
  requireNamespace(key.volumeNamespace)
  const fullMaintenanceInterval = config?.[GeneralOption.fullMaintenanceInterval]
  const place = repositoryBackend(location) === 's3' ? s3Options(facts) : folderOptions(facts)
  return {
    ...place,
    repoPassword: facts.password,
    description: `${key.volumeNamespace} in ${key.backupStorageLocation}`,
    generalOptions: {
      ...(fullMaintenanceInterval !== undefined && {
        [GeneralOption.fullMaintenanceInterval]: fullMaintenanceInterval,
      }),
      ...(location.spec.accessMode === 'ReadOnly' && { [GeneralOption.readOnly]: 'true' }),
    },
  }
}

/** Objects that people write may hold anything, and this becomes part of keys and paths. */
export function requireNamespace(name: string): void {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) return
  throw new RepositoryError('INVALID_LOCATION', {
    reason: `${JSON.stringify(name)} is no name of a namespace`,
    hint: 'Repositories are named after the namespace whose volumes they hold',
  })
}

type Place = Pick<RepoOptions, 'storageType' | 'storageOptions'>

function s3Options(facts: RepositoryFacts): Place {
  const { location, key, region, caCert, config, cacheFolder, cacheContents = true } = facts
  const { spec } = location
  const cacheLimit = config?.[StorageOption.cacheLimitMB]
  const endpoint = endpointOf(spec.config?.s3Url)
  return {
    storageType: StorageType.s3,
    storageOptions: {
      [StorageOption.bucket]: bucketName(spec.objectStorage.bucket),
      [StorageOption.prefix]: bucketLayout(spec.objectStorage.prefix).kopiaFolder(key.volumeNamespace),
      ...(endpoint !== undefined && { [StorageOption.endpoint]: endpoint }),
      ...(region !== undefined && { [StorageOption.region]: region }),
      ...(caCert !== undefined && { [StorageOption.caCertificate]: caCert }),
      ...(/^(1|t|true)$/i.test(spec.config?.insecureSkipTLSVerify ?? '') && {
        [StorageOption.skipTlsVerify]: 'true',
      }),
      ...(cacheFolder !== undefined && { [StorageOption.cacheFolder]: cacheFolder }),
      ...(cacheLimit !== undefined && { [StorageOption.cacheLimitMB]: cacheLimit }),
      ...(!cacheContents && { [StorageOption.cacheContents]: 'false' }),
    },
  }
}

function folderOptions({ location, key }: RepositoryFacts): Place {
  const { config, objectStorage } = location.spec
  const folder = path.join(config?.path ?? '', bucketName(objectStorage.bucket))
  return {
    storageType: StorageType.filesystem,
    storageOptions: {
      [StorageOption.path]: folder,
      [StorageOption.prefix]: bucketLayout(objectStorage.prefix)
        .kopiaFolder(key.volumeNamespace)
        .slice(0, -1),
    },
  }
}

/** Kopia knows hosts only, so neither it nor Velero would find a repository behind a path. */
function endpointOf(s3Url: string | undefined): string | undefined {
  if (s3Url === undefined || s3Url === '') return undefined
  const url = URL.parse(s3Url)
  if (url !== null && (url.pathname === '' || url.pathname === '/')) return url.origin
  throw new RepositoryError('INVALID_LOCATION', {
    reason: `config.s3Url ${JSON.stringify(s3Url)} has a path, or is no URL`,
    hint: 'For backups of volumes, name the server only, such as https://s3.example.org:9000',
  })
}

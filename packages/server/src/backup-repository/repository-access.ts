import { normalize } from 'node:path'
import type { BackupRepositoryKey, BackupStorageLocation } from '@lateen/api'
import { type Clock, type Fence, type Logger, noFence } from '@lateen/kube'
import {
  type KopiaRepoService,
  kopiaRepoService,
  openRepoStorage,
  type RepoOptions,
  type ResticRepository,
} from '@lateen/repo/unified'
import { type LocationPorts, locationConfig } from '../backup-store/open-location.ts'
import { awsAccess } from '../object-store/aws-access.ts'
import { type AwsEnvironment, defaultAwsTimeouts } from '../object-store/aws-client.ts'
import { parseAwsConfig } from '../object-store/aws-config.ts'
import { parseFilesystemConfig, refuseSystemFolder } from '../object-store/filesystem-config.ts'
import { acceptedRepository } from './accepted-repository.ts'
import { repositoryBackend } from './repository-backend.ts'
import { repositoryClock } from './repository-clock.ts'
import { repositoryOptions } from './repository-options.ts'
import { repositoryPassword } from './repository-password.ts'

/** Which repository: of a namespace, in a location. */
export interface RepositoryTarget {
  readonly key: BackupRepositoryKey
  readonly location: BackupStorageLocation
  /** `spec.repositoryConfig` of the BackupRepository. */
  readonly config?: Readonly<Record<string, string>> | null | undefined
}

/** What repositories are opened with. */
export interface RepositoryPorts extends Pick<LocationPorts, 'readSecretKey' | 'credentialFiles'> {
  clock: Clock
  log: Logger
  /** For credentials that locations do not name, and for proxies. */
  env: AwsEnvironment['env']
  /** Asked before anything in a repository changes. Default: none. */
  fence?: Fence | undefined
  /** For what is read from S3; nothing is kept when absent. */
  cacheFolder?: string | undefined
  /** Whether file data is kept there too, and not only metadata; so unless told. */
  cacheContents?: boolean | undefined
}

/** A native repository, with the service that opens it. */
export interface KopiaAccess {
  readonly repo: RepoOptions
  readonly service: KopiaRepoService
}

/**
 * Finds out where the native repository lies and with which keys and password it is opened; opens nothing. Throws
 * `RepositoryError`, `ObjectStoreError` or `SecretError` for settings that do not do, and KubeErrors.
 */
export async function kopiaAccess(
  { key, location, config }: RepositoryTarget,
  ports: RepositoryPorts,
  signal?: AbortSignal,
): Promise<KopiaAccess> {
  const backend = repositoryBackend(location)
  const settings = await locationConfig(location, ports, signal)
  const password = await repositoryPassword(ports.readSecretKey, signal)
  const { log, cacheFolder, cacheContents, fence = noFence } = ports
  const clock = repositoryClock(ports.clock)
  const guard = (change: string, id: string) => fence.check(`${change} the blob ${id}`)
  if (backend === 'filesystem') {
    parseFilesystemConfig(settings)
    const repo = repositoryOptions({ location, key, config, password })
    const openStorage: typeof openRepoStorage = (options, how) => openRepoStorage(options, { ...how, guard })
    return { repo, service: kopiaRepoService({ clock, log, openStorage }) }
  }
  const bucket = parseAwsConfig(settings)
  const { region, keys } = await awsAccess(bucket, { env: ports.env, timeouts: defaultAwsTimeouts }, signal)
  const { caCert } = bucket
  const repo = repositoryOptions({
    ...{ location, key, config, password, region, caCert, cacheFolder, cacheContents },
  })
  const openStorage: typeof openRepoStorage = (options, how) =>
    openRepoStorage(options, { ...how, credentials: keys, guard })
  return { repo, service: kopiaRepoService({ clock, log, openStorage }) }
}

/** What restic needs for a repository of older releases. `identifier` is what its object says, if it says anything. Throws as `kopiaAccess` does. */
export async function resticAccess(
  { key, location, identifier }: RepositoryTarget & { readonly identifier?: string | undefined },
  ports: RepositoryPorts,
  signal?: AbortSignal,
): Promise<ResticRepository> {
  const settings = await locationConfig(location, ports, signal)
  const repository = acceptedRepository(identifier ?? '', location, key.volumeNamespace)
  // Restic could reach those, but nobody here gives it their keys.
  if (/^(azure|gs):/.test(repository)) repositoryBackend(location)
  const password = await repositoryPassword(ports.readSecretKey, signal)
  const readOnly = location.spec.accessMode === 'ReadOnly'
  if (repository.startsWith('/')) {
    parseFilesystemConfig(settings)
    refuseSystemFolder(normalize(repository))
  }
  if (!repository.startsWith('s3:')) return { repository, password, readOnly }
  const bucket = parseAwsConfig(settings)
  const { region, keys } = await awsAccess(bucket, { env: ports.env, timeouts: defaultAwsTimeouts }, signal)
  const { accessKeyId, secretAccessKey, sessionToken } = await keys()
  return {
    repository,
    password,
    readOnly,
    insecureTls: bucket.insecureSkipTlsVerify,
    ...(bucket.caCert !== undefined && {
      caCertificateFile: await ports.credentialFiles.write(
        { name: location.metadata.name ?? '', key: 'ca' },
        Buffer.from(bucket.caCert),
      ),
    }),
    env: {
      AWS_DEFAULT_REGION: region,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      ...(sessionToken !== undefined && { AWS_SESSION_TOKEN: sessionToken }),
    },
  }
}

import type { S3Credentials } from '../../blob/s3.ts'
import type { BlobStorage } from '../../blob/storage.ts'
import { type Guard, guarded } from '../../blob/wrap/guarded.ts'
import type { ThrottleLimits } from '../../blob/wrap/throttled.ts'
import type { Clock } from '../../clock/clock.ts'
import { RepoError } from '../../errors/repo-error.ts'
import type { OpenRepositoryOptions } from '../../repository.ts'
import { type RepoOptions, StorageOption, StorageType } from '../backup-repo.ts'

/** How a storage is opened. */
export interface OpenStorageOptions {
  /** Makes the folder when it is not there. */
  readonly create?: boolean | undefined
  readonly clock: Clock
  /** Asked for keys of a bucket when they are needed, for keys that change; else those of the options, or the SDK's usual sources. */
  readonly credentials?: (() => Promise<S3Credentials>) | undefined
  /** Asked before each change, and again before it is repeated. */
  readonly guard?: Guard | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Opens the storage of a repository, with retries where it is remote. Throws `INVALID_ARGUMENT` for options
 * that do not suffice.
 */
export async function openRepoStorage(
  { storageType, storageOptions }: Pick<RepoOptions, 'storageType' | 'storageOptions'>,
  options: OpenStorageOptions,
): Promise<BlobStorage> {
  const limits = limitsOf(storageOptions)
  const storage = await openUnlimited(storageType, storageOptions, options)
  if (limits === undefined) return storage
  const { throttled } = await import('../../blob/wrap/throttled.ts')
  return throttled(storage, limits, options.clock)
}

/**
 * How many bytes of metadata packs to keep in memory, and when to read one whole: a remote storage answers too slowly to
 * be asked for each directory, and even in a folder one large read is cheaper than many small ones.
 */
export function metadataReads({ storageType }: Pick<RepoOptions, 'storageType'>): MetadataReads {
  if (storageType === StorageType.s3) return { metadataPackBytes: 64 << 20, slicesBeforeWhole: 0 }
  return { metadataPackBytes: 32 << 20, slicesBeforeWhole: 4 }
}

type MetadataReads = Required<Pick<OpenRepositoryOptions, 'metadataPackBytes' | 'slicesBeforeWhole'>>

type StorageOptions = RepoOptions['storageOptions']

function openUnlimited(
  storageType: StorageType,
  given: StorageOptions,
  options: OpenStorageOptions,
): Promise<BlobStorage> {
  switch (storageType) {
    case StorageType.filesystem:
      return openFolder(given, options)
    case StorageType.s3:
      return openBucket(given, options)
    default:
      throw new RepoError('INVALID_ARGUMENT', {
        message: `"${String(storageType)}" is no kind of storage`,
        hint: `use ${Object.values(StorageType).join(' or ')}`,
      })
  }
}

function limitsOf(given: StorageOptions): ThrottleLimits | undefined {
  const uploadBytesPerSecond = rate(given, StorageOption.uploadBytes)
  const downloadBytesPerSecond = rate(given, StorageOption.downloadBytes)
  if (uploadBytesPerSecond === undefined && downloadBytesPerSecond === undefined) return undefined
  return { uploadBytesPerSecond, downloadBytesPerSecond }
}

function rate(given: StorageOptions, name: string): number | undefined {
  const text = given[name]
  if (text === undefined || text === '') return undefined
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new RepoError('INVALID_ARGUMENT', {
    message: `the storage option "${name}" is "${text}"`,
    hint: 'it is a whole number of bytes per second',
  })
}

async function openFolder(
  given: StorageOptions,
  { create, guard }: OpenStorageOptions,
): Promise<BlobStorage> {
  const { openFilesystemStorage } = await import('../../blob/filesystem.ts')
  const folder = [required(given, StorageOption.path), given[StorageOption.prefix] ?? ''].filter(
    part => part !== '',
  )
  return withGuard(await openFilesystemStorage({ path: folder.join('/'), create }), guard)
}

async function openBucket(
  given: StorageOptions,
  { clock, credentials, guard, signal }: OpenStorageOptions,
): Promise<BlobStorage> {
  const { openS3Storage } = await import('../../blob/s3.ts')
  const { retried, retrying } = await import('../../blob/wrap/retrying.ts')
  const options = {
    bucket: required(given, StorageOption.bucket),
    prefix: given[StorageOption.prefix],
    endpoint: given[StorageOption.endpoint],
    region: given[StorageOption.region],
    tls: given[StorageOption.disableTls] !== 'true',
    caCertificate: given[StorageOption.caCertificate],
    insecureSkipTlsVerify: given[StorageOption.skipTlsVerify] === 'true',
    credentials: credentials ?? credentialsOf(given),
    signal,
  }
  // Few tries, so that a wrong address is told within a second.
  const storage = await retried(() => openS3Storage(options), { clock, attempts: 5 }, signal)
  return retrying(withGuard(storage, guard), { clock })
}

function withGuard(storage: BlobStorage, guard: Guard | undefined): BlobStorage {
  return guard === undefined ? storage : guarded(storage, guard)
}

function credentialsOf(given: StorageOptions) {
  const accessKeyId = given[StorageOption.accessKeyId]
  const secretAccessKey = given[StorageOption.secretAccessKey]
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  return { accessKeyId, secretAccessKey, sessionToken: given[StorageOption.sessionToken] }
}

function required(given: StorageOptions, name: string): string {
  const value = given[name]
  if (value !== undefined && value !== '') return value
  throw new RepoError('INVALID_ARGUMENT', {
    message: `the storage option "${name}" is missing`,
    hint: 'a folder needs fspath, S3 needs bucket',
  })
}

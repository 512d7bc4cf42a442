import { randomBytes as systemRandomBytes } from 'node:crypto'
import type { BlobStorage } from '../../blob/storage.ts'
import type { Clock } from '../../clock/clock.ts'
import type { ClientIdentity } from '../../content/write-session.ts'
import { RepoError } from '../../errors/repo-error.ts'
import { loadMaintenanceParams, saveMaintenanceParams } from '../../maintenance/params-manifest.ts'
import { createRepository, openRepository, type Repository } from '../../repository.ts'
import {
  type BackupRepoService,
  type CallOptions,
  GeneralOption,
  MaintainMode,
  type RepoOptions,
} from '../backup-repo.ts'
import { type Logger, silentLogger } from '../logger.ts'
import { notCreated } from '../not-created.ts'
import { type KopiaBackupRepo, kopiaBackupRepo } from './kopia-backup-repo.ts'
import { maintainRepository } from './maintain-repository.ts'
import { metadataReads, openRepoStorage } from './open-repo-storage.ts'
import { repoCache } from './repo-cache.ts'
import { retentionOption } from './retention-option.ts'
import { foreignMarker, readMarkerState, serializeVeleroMarker, veleroMarkerId } from './velero-marker.ts'

/** What the service is given. */
export interface KopiaRepoServiceOptions {
  readonly clock: Clock
  readonly log?: Logger
  readonly randomBytes?: (length: number) => Uint8Array
  /** For caches of repositories on remote storages whose options name no folder; they have none when absent. */
  readonly cacheFolder?: string
  /** Opens the storage that options name; folders and S3 unless told. */
  readonly openStorage?: typeof openRepoStorage
}

/** The unified repository service over the native engine, with Velero's conventions. */
export interface KopiaRepoService extends BackupRepoService {
  open(options: RepoOptions, call?: CallOptions): Promise<KopiaBackupRepo>
}

const HOUR = 3_600_000

/**
 * Makes the service. Repositories it creates are ready for Velero: same marker, same owner, same defaults.
 */
export function kopiaRepoService(service: KopiaRepoServiceOptions): KopiaRepoService {
  const openNamed = async (options: RepoOptions, { signal }: CallOptions = {}): Promise<Repository> => {
    const storage = await storageOf(service, options, { signal })
    return closingOnFailure(storage, () =>
      openRepository({ ...openOptions(service, options), storage, readOnly: isReadOnly(options), signal }),
    )
  }
  return {
    async init(options, { createNew, signal }) {
      if (createNew && isReadOnly(options)) throw notCreated()
      if (createNew) return createNamed(service, options, signal)
      await using repository = await openNamed(options, { signal })
      await completeInit(repository, options, signal)
      service.log?.debug({ storage: repository.storage.description }, 'connected to repository')
    },
    async open(options, call) {
      const repository = await openNamed(options, call)
      service.log?.debug({ storage: repository.storage.description }, 'opened repository')
      return kopiaBackupRepo(repository)
    },
    async maintain(options, { signal } = {}) {
      await using repository = await openNamed(options, { signal })
      await maintainRepository(repository, {
        mode: maintainMode(options),
        fullInterval: options.generalOptions?.[GeneralOption.fullMaintenanceInterval],
        log: service.log ?? silentLogger,
        signal,
      })
    },
    defaultMaintenanceFrequency: () => HOUR,
  }
}

/** The identity that options name, `default` at `default` unless they do. */
export function clientOf(options: Pick<RepoOptions, 'generalOptions'>): ClientIdentity {
  return {
    username: options.generalOptions?.[GeneralOption.ownerName] ?? 'default',
    hostname: options.generalOptions?.[GeneralOption.ownerDomain] ?? 'default',
  }
}

async function createNamed(
  service: KopiaRepoServiceOptions,
  options: RepoOptions,
  signal: AbortSignal | undefined,
): Promise<void> {
  const blobConfig = retentionOption(options)
  await using storage = await storageOf(service, options, { create: true, signal })
  const repository = await createRepository({
    ...openOptions(service, options),
    storage,
    format: formatOf(options),
    ...(blobConfig && { blobConfig }),
    signal,
  })
  await putMarker(repository, signal)
  service.log?.info({ storage: storage.description }, 'created repository')
}

/**
 * Finishes what a creator that died has left: owner first, then the marker, which says that all else is
 * there. A repository opened for reading is taken as it is.
 */
async function completeInit(
  repository: Repository,
  options: RepoOptions,
  signal: AbortSignal | undefined,
): Promise<void> {
  const marker = await readMarkerState(repository.storage, repository.format.uniqueId, signal)
  if (marker === 'foreign') throw foreignMarker(repository.storage)
  if (marker === 'matching' || isReadOnly(options)) return
  const params = await loadMaintenanceParams(repository.manifests, signal)
  if (params.owner === '') {
    const { username, hostname } = repository.client
    await saveMaintenanceParams(repository, { ...params, owner: `${username}@${hostname}` }, signal)
  }
  await putMarker(repository, signal)
}

function putMarker({ storage, format }: Repository, signal: AbortSignal | undefined): Promise<void> {
  return storage.put(veleroMarkerId, serializeVeleroMarker(format.uniqueId), { signal })
}

function openOptions(
  { clock, log, cacheFolder, randomBytes = systemRandomBytes }: KopiaRepoServiceOptions,
  options: RepoOptions,
) {
  return {
    password: options.repoPassword,
    client: clientOf(options),
    ...metadataReads(options),
    cache: repoCache(options, cacheFolder),
    clock,
    randomBytes,
    onIgnoredError: (error: RepoError) => log?.warn({ err: error }, 'ignored a failure of the repository'),
  }
}

function storageOf(
  { openStorage = openRepoStorage, clock }: KopiaRepoServiceOptions,
  options: RepoOptions,
  call: CallOptions & { create?: boolean },
): Promise<BlobStorage> {
  return openStorage(options, { ...call, clock })
}

async function closingOnFailure<T>(storage: BlobStorage, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    await storage[Symbol.asyncDispose]()
    throw error
  }
}

function isReadOnly({ generalOptions }: RepoOptions): boolean {
  return generalOptions?.[GeneralOption.readOnly] === 'true'
}

function formatOf({ generalOptions = {} }: RepoOptions): Record<string, string> {
  const chosen = {
    hash: generalOptions[GeneralOption.hashAlgorithm],
    encryption: generalOptions[GeneralOption.encryptionAlgorithm],
    splitter: generalOptions[GeneralOption.splitAlgorithm],
  }
  return Object.fromEntries(
    Object.entries(chosen).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function maintainMode({ generalOptions }: RepoOptions): MaintainMode {
  const mode = generalOptions?.[GeneralOption.maintainMode] ?? MaintainMode.auto
  const known = Object.values(MaintainMode).find(value => value === mode)
  if (known !== undefined) return known
  throw new RepoError('INVALID_ARGUMENT', {
    message: `"${mode}" is no mode of maintenance`,
    hint: `use ${Object.values(MaintainMode).join(', ')}`,
  })
}

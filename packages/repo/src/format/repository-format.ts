import { randomBytes as systemRandomBytes } from 'node:crypto'
import { type BlobStorage, blobId } from '../blob/storage.ts'
import { type Clock, systemClock } from '../clock/clock.ts'
import { corrupt, isRepoError, RepoError } from '../errors/repo-error.ts'
import { type BlobConfig, emptyBlobConfig, parseBlobConfig, serializeBlobConfig } from './blob-config.ts'
import { parseFormatBlob, serializeFormatBlob } from './format-blob.ts'
import {
  defaultEpochParameters,
  defaultMaxPackSize,
  parseFormatBlock,
  type RepositoryFormat,
  serializeFormatBlock,
} from './format-parameters.ts'
import {
  deriveFormatKey,
  deriveRepositoryKeys,
  type KeyAlgorithm,
  type RepositoryKeys,
} from './key-derivation.ts'
import { type SealingKey, seal, unseal } from './sealed-block.ts'
import { isLocked } from './upgrade-lock.ts'

export type { EpochParameters, RepositoryFormat } from './format-parameters.ts'
export type { RepositoryKeys } from './key-derivation.ts'

/** The blob that makes a storage location a repository. */
export const formatBlobId = blobId('kopia.repository')
/** The blob with the object-lock settings. */
export const blobConfigBlobId = blobId('kopia.blobcfg')

/** A repository whose format blob was opened with the right password. */
export interface OpenFormat {
  /** Salt of everything derived from the password; identifies the repository. */
  uniqueId: Uint8Array
  format: RepositoryFormat
  blobConfig: BlobConfig
  keys: RepositoryKeys
}

/** What a new repository may choose; everything has Kopia's and Velero's default. */
export interface CreateFormatOptions {
  password: string
  keyAlgorithm?: KeyAlgorithm
  format?: Partial<
    Pick<
      RepositoryFormat,
      | 'hash'
      | 'encryption'
      | 'ecc'
      | 'eccOverheadPercent'
      | 'version'
      | 'maxPackSize'
      | 'epochParameters'
      | 'splitter'
    >
  >
  blobConfig?: BlobConfig
  randomBytes?: (length: number) => Uint8Array
  signal?: AbortSignal | undefined
}

/** How a format is opened. */
export interface OpenFormatOptions {
  clock?: Clock
  /** The name under which this client takes part in format upgrades; its own lock does not stop it. */
  upgradeOwnerId?: string
  /** Called while another thread derives the key, which takes as long as everything else: time for work of the caller's own. */
  whileDeriving?: () => void
  signal?: AbortSignal | undefined
}

const secretLength = 32
const nonceLength = 12

/**
 * Makes an empty location a repository: `kopia.blobcfg` first, then `kopia.repository`.
 * Throws `ALREADY_EXISTS` when anything is stored there, `UNSUPPORTED_FORMAT` for format version 1.
 */
export async function createFormatBlob(
  storage: BlobStorage,
  options: CreateFormatOptions,
): Promise<OpenFormat> {
  const { signal, randomBytes = secureRandomBytes, keyAlgorithm = 'scrypt-65536-8-1' } = options
  await requireEmpty(storage, signal)
  const format = newFormat(options.format ?? {}, randomBytes)
  const blobConfig = options.blobConfig ?? emptyBlobConfig
  const uniqueId = randomBytes(secretLength)
  const key = { formatKey: await deriveFormatKey(options.password, uniqueId, keyAlgorithm), uniqueId }
  const block = seal(serializeFormatBlock(format), key, randomBytes(nonceLength))
  await storage.put(blobConfigBlobId, seal(serializeBlobConfig(blobConfig), key, randomBytes(nonceLength)), {
    signal,
  })
  await storage.put(formatBlobId, serializeFormatBlob({ uniqueId, keyAlgorithm, block }), { signal })
  return { uniqueId, format, blobConfig, keys: deriveRepositoryKeys(format, key.formatKey, uniqueId) }
}

/**
 * Opens the repository at a location. Throws `NOT_A_REPOSITORY`, `BAD_PASSWORD`, `UNSUPPORTED_FORMAT`, `CORRUPT`,
 * and `LOCKED` while somebody else changes the repository's format.
 */
export async function openFormatBlob(
  storage: BlobStorage,
  password: string,
  options: OpenFormatOptions = {},
): Promise<OpenFormat> {
  const { signal, clock = systemClock } = options
  const blob = parseFormatBlob(await getFormatBlob(storage, signal))
  const deriving = deriveFormatKey(password, blob.uniqueId, blob.keyAlgorithm)
  options.whileDeriving?.()
  const formatKey = await deriving
  const key = { formatKey, uniqueId: blob.uniqueId }
  const format = parseFormatBlock(unseal(blob.block, key))
  requireUnlocked(format, { now: clock.now(), ownerId: options.upgradeOwnerId })
  const sealedConfig = await getOptional(storage, signal)
  const blobConfig = sealedConfig === undefined ? emptyBlobConfig : openBlobConfig(sealedConfig, key)
  return {
    uniqueId: blob.uniqueId,
    format,
    blobConfig,
    keys: deriveRepositoryKeys(format, formatKey, blob.uniqueId),
  }
}

/** The password has been proven right by now, so that what does not open is damaged. */
function openBlobConfig(sealed: Uint8Array, key: SealingKey): BlobConfig {
  try {
    return parseBlobConfig(unseal(sealed, key))
  } catch (cause) {
    if (!isRepoError(cause, 'BAD_PASSWORD')) throw cause
    throw corrupt(`${blobConfigBlobId} is damaged`, { blobId: blobConfigBlobId, cause })
  }
}

/** Throws `LOCKED` when an upgrade lock of somebody else holds at `now`. */
export function requireUnlocked(
  { upgradeLock }: Pick<RepositoryFormat, 'upgradeLock'>,
  { now, ownerId }: { now: number; ownerId?: string | undefined },
): void {
  if (upgradeLock === undefined || upgradeLock.ownerId === ownerId || !isLocked(upgradeLock, now)) return
  throw new RepoError('LOCKED', {
    message: `The repository is locked for a format upgrade by ${upgradeLock.ownerId}: ${upgradeLock.message}`,
    hint: 'Wait for the upgrade to end, or roll it back with `kopia repository upgrade rollback`.',
    retryable: true,
  })
}

/** Throws `UNSUPPORTED_FORMAT` when the repository's format can only be read. */
export function requireWritableFormat({ version }: Pick<RepositoryFormat, 'version'>): void {
  if (version >= 2) return
  throw new RepoError('UNSUPPORTED_FORMAT', {
    message: `The repository has format version ${version}, which can be read but not written`,
    hint: 'Upgrade it with `kopia repository upgrade begin`, then try again.',
  })
}

function secureRandomBytes(length: number): Uint8Array {
  return new Uint8Array(systemRandomBytes(length))
}

async function requireEmpty(storage: BlobStorage, signal: AbortSignal | undefined): Promise<void> {
  for await (const { id } of storage.list('', { signal })) {
    throw new RepoError('ALREADY_EXISTS', {
      message: `${storage.description} is not empty: it holds ${id}`,
      hint: 'Open the repository that is there, or choose an empty location.',
      blobId: id,
    })
  }
}

function newFormat(
  chosen: NonNullable<CreateFormatOptions['format']>,
  randomBytes: (length: number) => Uint8Array,
): RepositoryFormat {
  const format: RepositoryFormat = {
    hash: 'BLAKE2B-256-128',
    encryption: 'AES256-GCM-HMAC-SHA256',
    ecc: undefined,
    eccOverheadPercent: 0,
    secret: randomBytes(secretLength),
    masterKey: randomBytes(secretLength),
    version: 3,
    maxPackSize: defaultMaxPackSize,
    indexVersion: 2,
    epochParameters: defaultEpochParameters,
    enablePasswordChange: true,
    splitter: 'DYNAMIC-4M-BUZHASH',
    upgradeLock: undefined,
    requiredFeatures: [],
    ...chosen,
  }
  requireWritableFormat(format)
  return format
}

async function getFormatBlob(storage: BlobStorage, signal: AbortSignal | undefined): Promise<Uint8Array> {
  try {
    return await storage.get(formatBlobId, { signal })
  } catch (cause) {
    if (!isRepoError(cause, 'BLOB_NOT_FOUND')) throw cause
    throw new RepoError('NOT_A_REPOSITORY', {
      message: `${storage.description} holds no repository: ${formatBlobId} is missing`,
      hint: 'Check the location, or create a repository there.',
      blobId: formatBlobId,
      cause,
    })
  }
}

async function getOptional(
  storage: BlobStorage,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  try {
    return await storage.get(blobConfigBlobId, { signal })
  } catch (error) {
    if (isRepoError(error, 'BLOB_NOT_FOUND')) return undefined
    throw error
  }
}

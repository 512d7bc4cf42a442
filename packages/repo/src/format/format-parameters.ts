import { corrupt, RepoError } from '../errors/repo-error.ts'
import {
  asJsonObject,
  encodeGoJson,
  type JsonObject,
  type JsonValue,
  parseGoJson,
} from '../go-json/go-json.ts'
import { parseUpgradeLock, type UpgradeLock } from './upgrade-lock.ts'

/** When epochs of the index begin, are compacted and cleaned up; durations in milliseconds. */
export interface EpochParameters {
  enabled: boolean
  refreshFrequency: number
  fullCheckpointFrequency: number
  cleanupSafetyMargin: number
  minEpochDuration: number
  advanceOnCount: number
  advanceOnTotalSize: number
  deleteParallelism: number
}

/** A feature that a reader must know, unless `warn` says that ignoring it is safe. */
export interface RequiredFeature {
  feature: string
  warn: boolean
  message: string | undefined
}

/** What the encrypted block of `kopia.repository` says: algorithms, secrets and limits of one repository. */
export interface RepositoryFormat {
  hash: string
  encryption: string
  ecc: string | undefined
  eccOverheadPercent: number
  /** Key of the content hash; empty for an unkeyed hash. */
  secret: Uint8Array
  /** Root of content encryption and of every other derived key. */
  masterKey: Uint8Array
  /** 1 to 3; 1 is read-only for us. */
  version: number
  maxPackSize: number
  indexVersion: 1 | 2
  epochParameters: EpochParameters
  /** False in format 1: keys hang on the password and packs carry copies of the format blob. */
  enablePasswordChange: boolean
  splitter: string
  upgradeLock: UpgradeLock | undefined
  requiredFeatures: readonly RequiredFeature[]
}

/** Bytes after which a pack is closed when the format does not say. */
export const defaultMaxPackSize = 20 * 1024 * 1024

/** The epoch parameters of a new repository, in Kopia and in Velero. */
export const defaultEpochParameters: EpochParameters = {
  enabled: true,
  refreshFrequency: 20 * 60_000,
  fullCheckpointFrequency: 7,
  cleanupSafetyMargin: 4 * 3_600_000,
  minEpochDuration: 24 * 3_600_000,
  advanceOnCount: 20,
  advanceOnTotalSize: 10 * 1024 * 1024,
  deleteParallelism: 4,
}

const knownFeatures: ReadonlySet<string> = new Set(['index-v1', 'index-v2'])
const newestVersion = 3
const nanosPerMilli = 1_000_000n

/** Writes the plaintext of the encrypted block, in Kopia's field order. */
export function serializeFormatBlock(format: RepositoryFormat): Uint8Array {
  const epoch = format.epochParameters
  const withEcc = format.ecc !== undefined && format.ecc !== '' && format.eccOverheadPercent > 0
  const block = {
    format: {
      hash: format.hash,
      encryption: format.encryption,
      ecc: withEcc ? format.ecc : undefined,
      eccOverheadPercent: withEcc ? format.eccOverheadPercent : undefined,
      secret: format.secret.length > 0 ? format.secret : undefined,
      masterKey: format.masterKey,
      version: format.version,
      maxPackSize: format.maxPackSize,
      indexVersion: format.indexVersion,
      epochParameters: {
        Enabled: epoch.enabled,
        EpochRefreshFrequency: toNanos(epoch.refreshFrequency),
        FullCheckpointFrequency: epoch.fullCheckpointFrequency,
        CleanupSafetyMargin: toNanos(epoch.cleanupSafetyMargin),
        MinEpochDuration: toNanos(epoch.minEpochDuration),
        EpochAdvanceOnCountThreshold: epoch.advanceOnCount,
        EpochAdvanceOnTotalSizeBytesThreshold: epoch.advanceOnTotalSize,
        DeleteParallelism: epoch.deleteParallelism,
      },
      enablePasswordChange: format.enablePasswordChange,
      splitter: format.splitter,
    },
  }
  return new TextEncoder().encode(encodeGoJson(block))
}

/**
 * Reads the plaintext of the encrypted block. Throws `CORRUPT` when it is not one and `UNSUPPORTED_FORMAT` for
 * a version or a required feature that we do not know.
 */
export function parseFormatBlock(plaintext: Uint8Array): RepositoryFormat {
  const root = asJsonObject(parseGoJson(Buffer.from(plaintext).toString('utf8')), 'The format block')
  const block = asJsonObject(root.format, 'The format block')
  const version = integer(block, 'version')
  if (version < 1 || version > newestVersion) throw unsupportedVersion(version)
  const indexVersion = integer(block, 'indexVersion') || 1
  if (indexVersion !== 1 && indexVersion !== 2) throw unsupported(`index version ${indexVersion}`)
  const requiredFeatures = parseRequiredFeatures(block.requiredFeatures)
  const unknown = requiredFeatures.find(({ feature, warn }) => !warn && !knownFeatures.has(feature))
  if (unknown !== undefined)
    throw unsupported(`the required feature ${JSON.stringify(unknown.feature)}`, unknown.message)
  return {
    hash: text(block, 'hash'),
    encryption: text(block, 'encryption'),
    ecc: text(block, 'ecc') || undefined,
    eccOverheadPercent: integer(block, 'eccOverheadPercent'),
    secret: bytes(block, 'secret'),
    masterKey: bytes(block, 'masterKey'),
    version,
    maxPackSize: integer(block, 'maxPackSize') || defaultMaxPackSize,
    indexVersion,
    epochParameters: parseEpochParameters(block.epochParameters),
    enablePasswordChange: block.enablePasswordChange === true,
    splitter: text(block, 'splitter') || 'FIXED',
    upgradeLock: parseUpgradeLock(block.upgradeLock),
    requiredFeatures,
  }
}

function parseEpochParameters(value: JsonValue | undefined): EpochParameters {
  const json = value === undefined || value === null ? {} : asJsonObject(value, 'epochParameters')
  return {
    enabled: json.Enabled === true,
    refreshFrequency: toMillis(json.EpochRefreshFrequency),
    fullCheckpointFrequency: integer(json, 'FullCheckpointFrequency'),
    cleanupSafetyMargin: toMillis(json.CleanupSafetyMargin),
    minEpochDuration: toMillis(json.MinEpochDuration),
    advanceOnCount: integer(json, 'EpochAdvanceOnCountThreshold'),
    advanceOnTotalSize: integer(json, 'EpochAdvanceOnTotalSizeBytesThreshold'),
    deleteParallelism: integer(json, 'DeleteParallelism'),
  }
}

function parseRequiredFeatures(value: JsonValue | undefined): RequiredFeature[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw corrupt('requiredFeatures of the format block is not a list')
  return value.map(item => {
    const json = asJsonObject(item, 'A required feature')
    const otherwise =
      json.ifNotUnderstood == null ? {} : asJsonObject(json.ifNotUnderstood, 'ifNotUnderstood')
    const message = otherwise.message
    return {
      feature: text(json, 'feature'),
      warn: otherwise.warn === true,
      message: typeof message === 'string' ? message : undefined,
    }
  })
}

function unsupportedVersion(version: number): RepoError {
  return new RepoError('UNSUPPORTED_FORMAT', {
    message: `The repository has format version ${version}; versions 1 to ${newestVersion} are supported`,
    hint: 'Use a newer version of this program.',
  })
}

function unsupported(what: string, message?: string): RepoError {
  return new RepoError('UNSUPPORTED_FORMAT', {
    message: `The repository uses ${what}, which is not supported${message ? `: ${message}` : ''}`,
    hint: 'Use a newer version of this program.',
  })
}

function text(json: JsonObject, key: string): string {
  const value = json[key]
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw corrupt(`${key} of the format block is not a string`)
  return value
}

function integer(json: JsonObject, key: string): number {
  const value = json[key] ?? 0
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw corrupt(`${key} of the format block is not an integer`)
  }
  return value
}

function bytes(json: JsonObject, key: string): Uint8Array {
  return new Uint8Array(Buffer.from(text(json, key), 'base64'))
}

function toNanos(ms: number): bigint {
  return BigInt(Math.round(ms)) * nanosPerMilli
}

function toMillis(value: JsonValue | undefined): number {
  if (value === undefined || value === null) return 0
  if (typeof value !== 'number' && typeof value !== 'bigint')
    throw corrupt('A duration of the format block is not a number')
  return Number(value) / 1e6
}

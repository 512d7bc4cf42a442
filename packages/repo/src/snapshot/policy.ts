import { corrupt } from '../errors/repo-error.ts'
import type { ManifestLabels } from '../manifest/manifest-store.ts'
import type { SourceInfo } from './source.ts'

/** How many snapshots of a source to keep; an absent number leaves the choice to a more general policy. */
export interface RetentionPolicy {
  keepLatest?: number
  keepHourly?: number
  keepDaily?: number
  keepWeekly?: number
  keepMonthly?: number
  keepAnnual?: number
  ignoreIdenticalSnapshots?: boolean
}

/** Which files a snapshot leaves out. */
export interface FilesPolicy {
  ignore?: string[]
  noParentIgnore?: boolean
  ignoreDotFiles?: string[]
  noParentDotFiles?: boolean
  ignoreCacheDirs?: boolean
  maxFileSize?: number
  oneFileSystem?: boolean
}

/** Which errors a snapshot may have and still count as good. */
export interface ErrorHandlingPolicy {
  ignoreFileErrors?: boolean
  ignoreDirectoryErrors?: boolean
  ignoreUnknownTypes?: boolean
}

/** When Kopia takes snapshots by itself; kept for it, unused by us. */
export interface SchedulingPolicy {
  intervalSeconds?: number
  timeOfDay?: { hour: number; min: number }[]
  noParentTimeOfDay?: boolean
  manual?: boolean
  cron?: string[]
  runMissed?: boolean
}

/** Which files are compressed, and how. */
export interface CompressionPolicy {
  compressorName?: string
  onlyCompress?: string[]
  noParentOnlyCompress?: boolean
  neverCompress?: string[]
  noParentNeverCompress?: boolean
  minSize?: number
  maxSize?: number
}

/** How much of an upload runs at once. */
export interface UploadPolicy {
  maxParallelSnapshots?: number
  maxParallelFileReads?: number
  /** Files above are written in parts of this size. Old Velero stores 2^63-1, hence bigint. */
  parallelUploadAboveSize?: number | bigint
}

/** A policy as stored. Sections we do not use (actions, logging, OS snapshots) are kept as they are. */
export interface Policy {
  retention: RetentionPolicy
  files: FilesPolicy
  errorHandling: ErrorHandlingPolicy
  scheduling: SchedulingPolicy
  compression: CompressionPolicy
  metadataCompression: { compressorName?: string }
  splitter: { algorithm?: string }
  actions: Record<string, unknown>
  osSnapshots: { volumeShadowCopy: Record<string, unknown> }
  logging: { directories: Record<string, unknown>; entries: Record<string, unknown> }
  upload: UploadPolicy
  /** More general policies do not apply. */
  noParent?: boolean
}

/** A policy without any setting, with its sections in stored order. */
export function emptyPolicy(): Policy {
  return {
    retention: {},
    files: {},
    errorHandling: {},
    scheduling: {},
    compression: {},
    metadataCompression: {},
    splitter: {},
    actions: {},
    osSnapshots: { volumeShadowCopy: {} },
    logging: { directories: {}, entries: {} },
    upload: {},
  }
}

/** What applies where no stored policy says otherwise. */
export function defaultPolicy(): Policy {
  return {
    ...emptyPolicy(),
    retention: {
      keepLatest: 10,
      keepHourly: 48,
      keepDaily: 7,
      keepWeekly: 4,
      keepMonthly: 24,
      keepAnnual: 3,
      ignoreIdenticalSnapshots: false,
    },
    files: { ignoreDotFiles: ['.kopiaignore'] },
    errorHandling: { ignoreFileErrors: false, ignoreDirectoryErrors: false, ignoreUnknownTypes: true },
    scheduling: { runMissed: true },
    compression: { compressorName: 'none' },
    metadataCompression: { compressorName: 'zstd-fastest' },
    upload: { maxParallelSnapshots: 1, parallelUploadAboveSize: 2 ** 31 },
  }
}

const sectionNames = Object.keys(emptyPolicy()) as (keyof Policy)[]

/** Reads a policy's payload. Throws RepoError CORRUPT when it is not an object of objects. */
export function parsePolicy(payload: unknown): Policy {
  if (!isRecord(payload)) throw corrupt('A policy manifest does not hold a JSON object')
  const policy: Record<string, unknown> = { ...emptyPolicy() }
  for (const [name, value] of Object.entries(payload)) {
    if ((sectionNames as string[]).includes(name) && !isRecord(value)) {
      throw corrupt(`The section ${JSON.stringify(name)} of a policy manifest is not a JSON object`)
    }
    policy[name] = value
  }
  return policy as unknown as Policy
}

/** The payload to store; sections come first in stored order, fields of other versions after them. */
export function policyPayload(policy: Policy): Record<string, unknown> {
  const { noParent, ...rest } = { ...emptyPolicy(), ...policy }
  return noParent ? { ...rest, noParent } : rest
}

/** The labels under which the policy of a source, of a user at a host, of a host, or of all is stored. */
export function policyLabels(target: SourceInfo): ManifestLabels {
  const { host, userName, path } = target
  if (path !== '') return { type: 'policy', policyType: 'path', username: userName, hostname: host, path }
  if (userName !== '') return { type: 'policy', policyType: 'user', username: userName, hostname: host }
  if (host !== '') return { type: 'policy', policyType: 'host', hostname: host }
  return { type: 'policy', policyType: 'global' }
}

/** The targets whose policies apply to a source, most specific first: its path, each parent, user, host, all. */
export function policyTargets(source: SourceInfo): SourceInfo[] {
  const targets: SourceInfo[] = []
  for (let path = source.path; path !== ''; ) {
    targets.push({ ...source, path })
    const parent = parentPath(path)
    if (parent === path) break
    path = parent
  }
  return [
    ...targets,
    { ...source, path: '' },
    { host: source.host, userName: '', path: '' },
    { host: '', userName: '', path: '' },
  ]
}

/** The compressor for a file by policy; undefined stores it as it is. */
export function compressorForFile(
  policy: CompressionPolicy,
  file: { name: string; size: number },
): string | undefined {
  const { compressorName = '', minSize = 0, maxSize = 0 } = policy
  if (compressorName === '' || compressorName === 'none') return undefined
  if (minSize > 0 && file.size < minSize) return undefined
  if (maxSize > 0 && file.size > maxSize) return undefined
  const dot = file.name.lastIndexOf('.')
  const extension = dot === -1 ? '' : file.name.slice(dot)
  if (policy.onlyCompress?.includes(extension)) return compressorName
  return policy.neverCompress?.includes(extension) ? undefined : compressorName
}

/** The compressor for directory and index objects; undefined stores them as they are. */
export function metadataCompressor(policy: Policy): string | undefined {
  const { compressorName = '' } = policy.metadataCompression
  return compressorName === '' || compressorName === 'none' ? undefined : compressorName
}

// Sources made on Windows keep their separators.
function parentPath(path: string): string {
  const [volume, rest] = /^.:[/\\]/.test(path) ? [path.slice(0, 2), path.slice(2)] : ['', path]
  const trimmed = rest.length > 1 && /[/\\]$/.test(rest) ? rest.slice(0, -1) : rest
  const last = Math.max(trimmed.lastIndexOf('/'), trimmed.lastIndexOf('\\'))
  if (last < 0) return path
  return volume + trimmed.slice(0, Math.max(1, last))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

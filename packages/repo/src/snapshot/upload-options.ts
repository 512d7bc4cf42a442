import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Clock } from '../clock/clock.ts'
import type { ContentWriter } from '../content/content-store.ts'
import { RepoError } from '../errors/repo-error.ts'
import type { OpenFormat } from '../format/repository-format.ts'
import type { ManifestWriter } from '../manifest/manifest-store.ts'
import type { ObjectStoreWriter } from '../object/object-store.ts'
import { metadataCompressor, type Policy } from './policy.ts'
import { loadPolicyTree, type PolicyTree } from './policy-tree.ts'
import type { UploadProgress } from './progress.ts'
import type { SnapshotManifest } from './snapshot-manifest.ts'
import type { SourceInfo } from './source.ts'

/** Where an upload goes: the writing scope of an opened repository. */
export interface UploadTarget {
  readonly repository: { readonly format: Pick<OpenFormat, 'format' | 'keys'>; readonly clock: Clock }
  readonly contents: ContentWriter
  readonly objects: Pick<ObjectStoreWriter, 'create' | 'put' | 'concatenate'>
  readonly manifests: ManifestWriter
  flush(signal?: AbortSignal): Promise<void>
}

/** Takes notes: a constant message and the fields it is about. */
export interface UploadLogger {
  debug(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** What an upload may be told besides the path. Every default is Kopia's. */
export interface UploadOptions {
  source: SourceInfo
  description?: string
  tags?: Readonly<Record<string, string>>
  pins?: readonly string[]
  /** The stored policies of the source when absent. */
  policies?: PolicyTree
  /** Takes the place of the policy stored for the source itself; not used together with `policies`. */
  policyOverride?: Policy
  /** Snapshots to compare with. When absent: the newest complete one of the source and the incomplete ones after it. */
  previous?: readonly SnapshotManifest[]
  /** Reads every file even if it looks unchanged. */
  rereadAll?: boolean
  /** Ends the upload with SOURCE_FAILED at the first error that the policy does not ignore. */
  failFast?: boolean
  /** Folders and large files in work at the same time; by default what the policy says, else the number of CPUs. */
  parallel?: number
  /** Threads that read and encrypt; 0 for none. By default one per CPU, but no more than 4 and than `parallel`. */
  threads?: number
  /** Bytes to read before threads are started; 8 MiB when absent. With 0 threads read all files. */
  threadsFrom?: number
  /** Milliseconds between checkpoints, at most 45 minutes. */
  checkpointInterval?: number
  /** False takes in everything, whatever policies and ignore files say. */
  ignoreRules?: boolean
  /** Ends with an incomplete snapshot once more than this was read. */
  maxUploadBytes?: number
  /** When cancelled, saves what is there as an incomplete snapshot instead of throwing CANCELLED. */
  keepCancelled?: boolean
  /** False leaves older snapshots of the source alone. */
  applyRetention?: boolean
  /** For directories and index objects; '' for none. By default what the policy says. */
  metadataCompressor?: string
  /** False does not look for the total before it is known; it is only looked for with `onProgress`. */
  estimate?: boolean
  /** Asked when all was read, before the snapshot is saved. What it throws ends the upload, which leaves no snapshot then. */
  confirm?: () => Promise<void>
  onProgress?: (progress: UploadProgress) => void
  log?: UploadLogger
  clock?: Clock
  signal?: AbortSignal
  /** A unique text; names the parts of files in checkpoints. */
  newUuid?: () => string
}

/** The options of one upload with all defaults filled in. */
export interface UploadSettings extends UploadOptions {
  description: string
  tags: Readonly<Record<string, string>>
  pins: readonly string[]
  policies: PolicyTree
  parallel: number
  threads: number
  threadsFrom: number
  checkpointInterval: number
  ignoreRules: boolean
  log: UploadLogger
  clock: Clock
  newUuid: () => string
  /** Undefined means none. */
  directoryCompressor: string | undefined
}

/** The longest time between checkpoints that does not endanger an upload's data under concurrent maintenance. */
export const longestCheckpointInterval = 45 * 60_000

const mostThreads = 4

/** Fills in the defaults. Throws RepoError INVALID_ARGUMENT for a checkpoint interval out of range. */
export async function withUploadDefaults(
  target: UploadTarget,
  options: UploadOptions,
): Promise<UploadSettings> {
  const { policyOverride: override, signal } = options
  const policies =
    options.policies ??
    (await loadPolicyTree(target.manifests, options.source, { signal, ...(override && { override }) }))
  const { effective } = policies
  const parallel = options.parallel ?? effective.upload.maxParallelFileReads ?? availableParallelism()
  return {
    ...options,
    description: options.description ?? '',
    tags: options.tags ?? {},
    pins: options.pins ?? [],
    policies,
    parallel,
    threads: options.threads ?? Math.min(availableParallelism(), parallel, mostThreads),
    threadsFrom: options.threadsFrom ?? 8 << 20,
    checkpointInterval: checkedInterval(options),
    ignoreRules: options.ignoreRules ?? true,
    log: options.log ?? silent,
    clock: options.clock ?? target.repository.clock,
    newUuid: options.newUuid ?? randomUUID,
    directoryCompressor: (options.metadataCompressor ?? metadataCompressor(effective)) || undefined,
  }
}

function checkedInterval({ checkpointInterval = longestCheckpointInterval }: UploadOptions): number {
  if (checkpointInterval > 0 && checkpointInterval <= longestCheckpointInterval) return checkpointInterval
  throw new RepoError('INVALID_ARGUMENT', {
    message: `A checkpoint interval of ${checkpointInterval} ms is not between 1 ms and 45 minutes`,
    hint: 'Leave it out to get 45 minutes',
  })
}

const silent: UploadLogger = { debug() {}, warn() {} }

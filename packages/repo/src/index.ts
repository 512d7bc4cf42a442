/**
 * The Kopia-compatible repository engine. Read in this order: `repository.ts` (what a caller does), `content/content-writer.ts`
 * (how bytes get in), `content/content-reader.ts` (how they come out), `docs/formats/repository.md` (what lies in the storage).
 * S3 has a door of its own, `@lateen/repo/s3`, and so has the Unified Repository, `@lateen/repo/unified`.
 */

// Storages and what can be put around them.
export { type FilesystemStorageOptions, openFilesystemStorage } from './blob/filesystem.ts'
export { type MemoryStorage, type MemoryStorageOptions, memoryStorage } from './blob/memory.ts'
export {
  type BlobData,
  type BlobId,
  type BlobMetadata,
  type BlobOptions,
  type BlobRetention,
  type BlobStorage,
  blobId,
  type GetBlobOptions,
  type PutBlobOptions,
} from './blob/storage.ts'
export { type CachingOptions, caching } from './blob/wrap/caching.ts'
export { type LoggedOptions, logged } from './blob/wrap/logged.ts'
export { readOnly } from './blob/wrap/read-only.ts'
export { type RetainingOptions, retaining } from './blob/wrap/retaining.ts'
export { type Retry, type RetryingOptions, retrying } from './blob/wrap/retrying.ts'
export { type ThrottleLimits, throttled } from './blob/wrap/throttled.ts'
export { type Clock, systemClock } from './clock/clock.ts'
// Contents, objects, manifests.
export type {
  ContentStore,
  ContentWriter,
  EntriesOptions,
  WriteContentOptions,
} from './content/content-store.ts'
export type { ClientIdentity } from './content/write-session.ts'
export { isRepoError, RepoError, type RepoErrorCode, type RepoErrorIds } from './errors/repo-error.ts'
export type { BlobConfig } from './format/blob-config.ts'
export type { CreateFormatOptions, OpenFormat, RepositoryFormat } from './format/repository-format.ts'
export { type ContentId, parseContentId } from './index-format/content-id.ts'
export type { IndexEntry } from './index-format/index-entry.ts'
// Maintenance and verification.
export type { Effect } from './maintenance/effect.ts'
export { defaultMaintenanceParams, type MaintenanceParams } from './maintenance/params.ts'
export { loadMaintenanceParams, saveMaintenanceParams } from './maintenance/params-manifest.ts'
export {
  formatPlan,
  type MaintenancePlan,
  type PlanFacts,
  type PlannedStep,
  planMaintenance,
} from './maintenance/plan.ts'
export type { RebuiltIndex } from './maintenance/rebuilt-indexes.ts'
export {
  type MaintenanceOptions,
  type MaintenanceReport,
  previewMaintenance,
  runMaintenance,
  type StepEvent,
} from './maintenance/run.ts'
export { type SafetyParameters, safetyFull, safetyNone } from './maintenance/safety.ts'
export type { MaintenanceMode, MaintenanceTask } from './maintenance/task.ts'
export type { VerifyOptions } from './maintenance/verified-repository.ts'
export { verifyRepository } from './maintenance/verify.ts'
export type { VerifyProblem, VerifyProgress, VerifyResult } from './maintenance/verify-report.ts'
export {
  type Manifest,
  type ManifestId,
  type ManifestLabels,
  type ManifestMetadata,
  type ManifestStore,
  type ManifestWriter,
  manifestId,
} from './manifest/manifest-store.ts'
export { type ObjectId, objectId } from './object/object-id.ts'
export type { ObjectReader, StreamOptions } from './object/object-reader.ts'
export type { NewObjectOptions, ObjectStore, ObjectStoreWriter } from './object/object-store.ts'
export type { ObjectWriter, ObjectWriterOptions } from './object/object-writer.ts'
// The repository itself.
export { type IndexRepair, type RepairIndexesOptions, repairIndexes } from './repair-indexes.ts'
export {
  type CreateRepositoryOptions,
  createRepository,
  type OpenRepositoryOptions,
  openRepository,
  type Repository,
  type RepositoryWriter,
  type WritingOptions,
} from './repository.ts'
// Snapshots.
export { uploadBlockDevice } from './snapshot/block-device.ts'
export { deleteSnapshots } from './snapshot/delete-snapshots.ts'
export { diffSnapshots, type EntryAspect, type EntryChange } from './snapshot/diff-snapshots.ts'
export type { DirectoryEntry, DirectorySummary, EntryType } from './snapshot/directory.ts'
export {
  findSnapshot,
  type ListSnapshotsOptions,
  listSnapshots,
  type SnapshotList,
} from './snapshot/list-snapshots.ts'
export {
  defaultPolicy,
  emptyPolicy,
  type Policy,
  parsePolicy,
  policyLabels,
  policyPayload,
} from './snapshot/policy.ts'
export { loadEffectivePolicy, loadPolicyTree, type PolicyTree, policyTree } from './snapshot/policy-tree.ts'
export type { UploadProgress } from './snapshot/progress.ts'
export { type RestoreDeviceOptions, restoreDevice } from './snapshot/restore-device.ts'
export type { RestoreProblem, RestoreProgress, RestoreResult } from './snapshot/restore-report.ts'
export { type RestoreToTarOptions, restoreToTar } from './snapshot/restore-to-tar.ts'
export { type RestoreTreeOptions, restoreTree } from './snapshot/restore-tree.ts'
export { applyRetention, expiredSnapshots } from './snapshot/retention.ts'
export type { UploadResult } from './snapshot/save-snapshot.ts'
export type { SnapshotManifest, SnapshotStats } from './snapshot/snapshot-manifest.ts'
export { parseSource, printSource, type SourceInfo } from './snapshot/source.ts'
export type { UploadOptions, UploadTarget } from './snapshot/upload-options.ts'
export { uploadTree } from './snapshot/upload-tree.ts'
export { type WalkedEntry, walkSnapshot } from './snapshot/walk-snapshot.ts'
export type { RepositoryCache } from './storage-layers.ts'

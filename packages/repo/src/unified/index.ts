/**
 * The Unified Repository: the contract in `backup-repo.ts`, repository and uploader providers above it, and
 * both for the native repository and for restic.
 */
export {
  type BackupRepo,
  type BackupRepoService,
  type CallOptions,
  GeneralOption,
  MaintainMode,
  type ManifestEntryMetadata,
  type ManifestFilter,
  ObjectAccessMode,
  ObjectBackupMode,
  ObjectDataType,
  ObjectPrefix,
  type ObjectReader,
  type ObjectWriteOptions,
  type ObjectWriter,
  type RepoId,
  type RepoManifest,
  type RepoOptions,
  type SeekOrigin,
  StorageOption,
  StorageType,
  WritePriority,
} from './backup-repo.ts'
export { type KopiaBackupRepo, kopiaBackupRepo } from './kopia/kopia-backup-repo.ts'
export {
  type KopiaRepoService,
  type KopiaRepoServiceOptions,
  kopiaRepoService,
} from './kopia/kopia-repo-service.ts'
export { type OpenStorageOptions, openRepoStorage } from './kopia/open-repo-storage.ts'
export { unifiedRepositoryProvider } from './kopia/unified-repository-provider.ts'
export { type UnifiedUploaderOptions, unifiedUploaderProvider } from './kopia/unified-uploader-provider.ts'
export { type DataPathLoggers, type Logger, silentLogger } from './logger.ts'
export type { ForgetOutcome, ProviderKind, RepositoryProvider } from './repository-provider.ts'
export type { ResticSnapshot } from './restic/restic-message.ts'
export type { ResticRepository, ResticSettings } from './restic/restic-repository.ts'
export {
  type ResticRepositoryProvider,
  resticRepositoryProvider,
} from './restic/restic-repository-provider.ts'
export { resticUploaderProvider } from './restic/restic-uploader-provider.ts'
export type {
  BackupOutcome,
  BackupRun,
  BackupRunOptions,
  DataPathProgress,
  RestoreOutcome,
  RestoreRun,
  RunOptions,
  UploaderConfig,
  UploaderProvider,
  VolumeMode,
} from './uploader-provider.ts'

/**
 * The Kopia-compatible repository engine. Read in this order: `repository.ts` (what a caller does), `content/content-writer.ts`
 * (how bytes get in), `content/content-reader.ts` (how they come out), `docs/formats/repository.md` (what lies in the storage).
 */
export { openFilesystemStorage } from './blob/filesystem.ts'
export { memoryStorage } from './blob/memory.ts'
export { type BlobId, type BlobMetadata, type BlobStorage, blobId } from './blob/storage.ts'
export { readOnly } from './blob/wrap/read-only.ts'
export { type Clock, systemClock } from './clock/clock.ts'
export type {
  ContentStore,
  ContentWriter,
  EntriesOptions,
  WriteContentOptions,
} from './content/content-store.ts'
export type { ClientIdentity } from './content/write-session.ts'
export { isRepoError, RepoError, type RepoErrorCode } from './errors/repo-error.ts'
export { type ContentId, parseContentId } from './index-format/content-id.ts'
export type { IndexEntry } from './index-format/index-entry.ts'
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
export {
  type CreateRepositoryOptions,
  createRepository,
  type OpenRepositoryOptions,
  openRepository,
  type Repository,
  type RepositoryWriter,
  type WritingOptions,
} from './repository.ts'

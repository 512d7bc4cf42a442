import type { BlobStorage } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import type { ContentStore, ContentWriter } from '../content/content-store.ts'
import type { BlobCrypto } from '../format/blob-crypto.ts'
import type { OpenFormat } from '../format/repository-format.ts'
import type { ManifestStore, ManifestWriter } from '../manifest/manifest-store.ts'

/** What maintenance needs of an opened repository; `Repository` is one. */
export interface MaintainedRepository {
  readonly storage: BlobStorage
  readonly format: OpenFormat
  readonly crypto: BlobCrypto
  readonly clock: Clock
  readonly contents: ContentStore
  readonly manifests: ManifestStore
  refresh(signal?: AbortSignal): Promise<void>
  writing<T>(
    options: { signal?: AbortSignal | undefined },
    work: (writer: MaintenanceWriter) => Promise<T>,
  ): Promise<T>
}

/** What maintenance needs of a writing scope. */
export interface MaintenanceWriter {
  readonly contents: ContentWriter
  readonly manifests: ManifestWriter
  flush(signal?: AbortSignal): Promise<void>
}

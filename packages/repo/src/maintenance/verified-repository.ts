import type { BlobStorage } from '../blob/storage.ts'
import type { ContentStore } from '../content/content-store.ts'
import type { BlobCrypto } from '../format/blob-crypto.ts'
import type { OpenFormat } from '../format/repository-format.ts'
import type { VerifyProgress } from './verify-report.ts'

/** What verifying needs of an opened repository. */
export interface VerifiedRepository {
  /** Without a cache, so that what lies in the storage is verified. */
  storage: BlobStorage
  format: OpenFormat
  crypto: BlobCrypto
  contents: ContentStore
}

/** How thoroughly a repository is verified. */
export interface VerifyOptions {
  /** Which contents are read, decrypted and hashed; a sample unless told. All others are only looked up. */
  contents?: 'none' | 'sample' | 'all'
  /** How much a sample is; 1 percent unless told. */
  samplePercent?: number
  /** 0 to 1: another value takes another sample, so that samples of several days cover more. */
  seed?: number
  /** Ids of the snapshots to walk, whose contents are then the only ones looked at; all unless told. */
  snapshots?: readonly string[]
  /** Packs read at the same time; 4 unless told. */
  parallel?: number
  onProgress?: (progress: Readonly<VerifyProgress>) => void
  signal?: AbortSignal | undefined
}

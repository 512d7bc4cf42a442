import { randomBytes as systemRandomBytes } from 'node:crypto'
import type { BlobStorage } from '../blob/storage.ts'
import type { Clock } from '../clock/clock.ts'
import type { RepoError } from '../errors/repo-error.ts'
import type { BlobCrypto } from '../format/blob-crypto.ts'
import type { RepositoryFormat } from '../format/repository-format.ts'
import type { CommittedIndex } from './committed-index.ts'
import type { ContentCodec } from './content-codec.ts'
import type { PackRanges } from './pack-ranges.ts'
import type { ClientIdentity } from './write-session.ts'

/** What a content writer works with. */
export interface ContentWriterOptions {
  storage: BlobStorage
  format: RepositoryFormat
  codec: ContentCodec
  crypto: BlobCrypto
  index: CommittedIndex
  ranges: PackRanges
  clock: Clock
  client: ClientIdentity
  randomBytes?: ((length: number) => Uint8Array) | undefined
  /** Packs that are full and not stored yet: no more bytes than this, plus one pack. 40 MiB when absent. */
  maxBytesInFlight?: number | undefined
  /** Publishes an index once the session is this old, in ms; 10 minutes, which maintenance relies on, when absent. */
  flushAfter?: number | undefined
  /** Publishes an index after this many entries, so that memory stays bounded. */
  flushEntries?: number | undefined
  /** Ends everything the writer does. */
  signal?: AbortSignal | undefined
  /** Told of failures that change no result. */
  onIgnoredError?: ((error: RepoError) => void) | undefined
}

/** `ContentWriterOptions` with all defaults in place. */
export type WriterSettings = ContentWriterOptions &
  Required<
    Pick<ContentWriterOptions, 'maxBytesInFlight' | 'flushAfter' | 'flushEntries'> & {
      randomBytes: (length: number) => Uint8Array
      onIgnoredError: (error: RepoError) => void
    }
  > & { maxBytesInFlight: number; flushAfter: number; flushEntries: number }

/** Fills in what the caller left out. */
export function withDefaults(options: ContentWriterOptions): WriterSettings {
  return {
    ...options,
    randomBytes: options.randomBytes ?? systemRandomBytes,
    maxBytesInFlight: options.maxBytesInFlight ?? 40 << 20,
    flushAfter: options.flushAfter ?? 10 * 60_000,
    flushEntries: options.flushEntries ?? 100_000,
    onIgnoredError: options.onIgnoredError ?? (() => {}),
  }
}

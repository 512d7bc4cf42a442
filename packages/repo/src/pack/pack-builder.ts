import type { ContentEncryption } from '../encryption/content-encryption.ts'
import { RepoError } from '../errors/repo-error.ts'
import type { ContentHash } from '../hashing/content-hash.ts'
import type { ContentId } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'
import { serializeIndex } from '../index-format/serialize-index.ts'
import { serializePostamble } from './pack-postamble.ts'

/** What every pack of a repository is built with. */
export interface PackCrypto {
  hash: ContentHash
  encryption: ContentEncryption
  indexVersion: 1 | 2
  randomBytes: (length: number) => Uint8Array
}

/** A content that was encrypted and now needs a place. */
export interface PackedContent {
  contentId: ContentId
  /** Compressed and encrypted; kept, not copied, so the caller must not change it. */
  sealed: Uint8Array
  originalLength: number
  compressionId: number
  /** Unix seconds. */
  timestamp: number
  formatVersion: number
  deleted?: boolean
}

/** A pack ready to be put. */
export interface FinishedPack {
  packBlobId: string
  /** The blob's bytes in order, without a copy of the contents. */
  parts: readonly Uint8Array[]
  length: number
  /** For the index: contents of this pack and deletions that were added to it. */
  entries: readonly IndexEntry[]
}

const preambleLength = 32
const alignment = 4096
const indexSaltLength = 32

/** Collects encrypted contents until they are a pack. Synchronous: nothing is awaited between look-up and add. */
export class PackBuilder {
  readonly packBlobId: string
  readonly #crypto: PackCrypto
  readonly #parts: Uint8Array[]
  readonly #pending = new Map<ContentId, { entry: IndexEntry; sealed: Uint8Array | undefined }>()
  #length: number
  #contents = 0

  constructor(packBlobId: string, crypto: PackCrypto) {
    this.packBlobId = packBlobId
    this.#crypto = crypto
    this.#parts = [crypto.randomBytes(preambleLength)]
    this.#length = preambleLength
  }

  /** Bytes so far, without what `finish` adds. */
  get length(): number {
    return this.#length
  }

  /** Contents of this pack that were not forgotten; without any, only `entries` matter and no blob is written. */
  get contentCount(): number {
    return this.#contents
  }

  /** Contents and deletions that wait for an index. */
  get entryCount(): number {
    return this.#pending.size
  }

  /** Appends a content and returns its entry. */
  add(content: PackedContent): IndexEntry {
    const entry: IndexEntry = {
      contentId: content.contentId,
      timestamp: content.timestamp,
      packBlobId: this.packBlobId,
      packOffset: this.#length,
      packedLength: content.sealed.length,
      originalLength: content.originalLength,
      compressionId: content.compressionId,
      formatVersion: content.formatVersion,
      encryptionKeyId: 0,
      deleted: content.deleted ?? false,
    }
    this.forget(content.contentId)
    this.#parts.push(content.sealed)
    this.#length += content.sealed.length
    this.#contents++
    this.#pending.set(content.contentId, { entry, sealed: content.sealed })
    return entry
  }

  /** Adds an entry that points elsewhere: the deletion or revival of a content in another pack. */
  addEntry(entry: IndexEntry): void {
    this.forget(entry.contentId)
    this.#pending.set(entry.contentId, { entry, sealed: undefined })
  }

  /** Forgets an entry; the bytes of a content in this pack stay as a gap. True when it was there. */
  forget(contentId: ContentId): boolean {
    if (this.sealedContent(contentId) !== undefined) this.#contents--
    return this.#pending.delete(contentId)
  }

  /** The entry of a content in this pack or added to it. */
  get(contentId: ContentId): IndexEntry | undefined {
    return this.#pending.get(contentId)?.entry
  }

  /** The encrypted bytes of a content that lies in this pack. */
  sealedContent(contentId: ContentId): Uint8Array | undefined {
    return this.#pending.get(contentId)?.sealed
  }

  /** The entries of the pack, in the order of addition. */
  entries(): IndexEntry[] {
    return Array.from(this.#pending.values(), ({ entry }) => entry)
  }

  /**
   * Closes the pack: padding, its own encrypted index, postamble. The builder must not be used after that.
   * Throws `INVALID_ARGUMENT` for a pack without contents.
   */
  finish(): FinishedPack {
    if (this.#contents === 0) {
      throw new RepoError('INVALID_ARGUMENT', { message: `The pack ${this.packBlobId} has no contents` })
    }
    const { hash, encryption, indexVersion, randomBytes } = this.#crypto
    const entries = this.entries()
    const padding = randomBytes(alignment - (this.#length % alignment))
    const plaintext = Buffer.concat([serializeIndex(entries, indexVersion), randomBytes(indexSaltLength)])
    const iv = hash.hash(plaintext)
    const localIndex = encryption.encrypt(plaintext, iv)
    const localIndexOffset = this.#length + padding.length
    const postamble = serializePostamble({ iv, localIndexOffset, localIndexLength: localIndex.length })
    return {
      packBlobId: this.packBlobId,
      parts: [...this.#parts, padding, localIndex, postamble],
      length: localIndexOffset + localIndex.length + postamble.length,
      entries,
    }
  }
}

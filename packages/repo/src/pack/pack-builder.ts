import type { ContentEncryption } from '../encryption/content-encryption.ts'
import { RepoError } from '../errors/repo-error.ts'
import type { ContentHash } from '../hashing/content-hash.ts'
import type { ContentId } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'
import { serializeIndex } from '../index-format/serialize-index.ts'
import { serializePostamble } from './pack-postamble.ts'
import { preambleLength } from './pack-preamble.ts'

/** What every pack of a repository is built with. */
export interface PackCrypto {
  hash: ContentHash
  encryption: ContentEncryption
  indexVersion: 1 | 2
  randomBytes: (length: number) => Uint8Array
}

/** What a pack's bytes lie in; an array that can be handed to another thread. */
export type PackBytes = Uint8Array<ArrayBuffer>

/** A content that was encrypted and now needs a place. */
export interface PlacedContent {
  contentId: ContentId
  /** Bytes after compression and encryption. */
  packedLength: number
  originalLength: number
  compressionId: number
  /** Unix seconds. */
  timestamp: number
  formatVersion: number
  deleted?: boolean
}

/** The same with its bytes. */
export interface PackedContent extends Omit<PlacedContent, 'packedLength'> {
  /** Compressed and encrypted; copied. */
  sealed: Uint8Array
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

const alignment = 4096
const indexSaltLength = 32

/**
 * Collects encrypted contents until they are a pack. Synchronous: nothing is awaited between look-up and add. The bytes are in
 * one buffer, either here or, when somebody else fills it, away until `fill` brings them.
 */
export class PackBuilder {
  readonly packBlobId: string
  readonly #crypto: PackCrypto
  readonly #entries: IndexEntry[] = []
  #bytes: PackBytes | undefined
  #length = preambleLength

  /** `room` takes the pack's bytes, and is replaced when they do not fit; without it they are away. */
  constructor(packBlobId: string, crypto: PackCrypto, room?: PackBytes) {
    this.packBlobId = packBlobId
    this.#crypto = crypto
    this.#bytes = room
  }

  /** Bytes so far, without what `finish` adds. */
  get length(): number {
    return this.#length
  }

  /** True until `fill` for a pack that somebody else fills. */
  get isAway(): boolean {
    return this.#bytes === undefined
  }

  /** What the bytes lie in; undefined while they are away. */
  get room(): PackBytes | undefined {
    return this.#bytes
  }

  /** Appends a content and returns its entry. The bytes of the pack must be here. */
  add({ sealed, ...content }: PackedContent): IndexEntry {
    const entry = this.place({ ...content, packedLength: sealed.length })
    this.#reach(this.#length).set(sealed, entry.packOffset)
    return entry
  }

  /** Gives a content the place after the last one and returns its entry; its bytes come with `fill`. */
  place(content: PlacedContent): IndexEntry {
    const entry: IndexEntry = {
      contentId: content.contentId,
      timestamp: content.timestamp,
      packBlobId: this.packBlobId,
      packOffset: this.#length,
      packedLength: content.packedLength,
      originalLength: content.originalLength,
      compressionId: content.compressionId,
      formatVersion: content.formatVersion,
      encryptionKeyId: 0,
      deleted: content.deleted ?? false,
    }
    this.#length += content.packedLength
    this.#entries.push(entry)
    return entry
  }

  /** Gives the bytes away, to be filled up elsewhere; undefined when they are away already. */
  sendAway(): PackBytes | undefined {
    const bytes = this.#bytes
    this.#bytes = undefined
    return bytes
  }

  /** Takes over all contents of another pack, which must not be used after that. The bytes of both must be here. */
  absorb(other: PackBuilder): void {
    const from = this.#length
    for (const entry of other.#entries) {
      entry.packBlobId = this.packBlobId
      entry.packOffset += from - preambleLength
      this.#entries.push(entry)
    }
    this.#length += other.#length - preambleLength
    this.#reach(this.#length).set(other.#reach(0).subarray(preambleLength, other.#length), from)
  }

  /** Brings the bytes of all contents, each at its place. */
  fill(bytes: PackBytes): void {
    this.#bytes = bytes
  }

  /** The encrypted bytes of a content that lies in this pack; undefined while they are away. */
  sealedAt({ packOffset, packedLength }: IndexEntry): Uint8Array | undefined {
    return this.#bytes?.subarray(packOffset, packOffset + packedLength)
  }

  /**
   * Closes the pack: padding, its own encrypted index, postamble. The builder must not be used after that.
   * Throws `INVALID_ARGUMENT` for a pack without contents.
   */
  finish(): FinishedPack {
    if (this.#entries.length === 0 || this.#bytes === undefined) {
      throw new RepoError('INVALID_ARGUMENT', { message: `The pack ${this.packBlobId} has no contents` })
    }
    const { hash, encryption, indexVersion, randomBytes } = this.#crypto
    this.#bytes.set(randomBytes(preambleLength), 0)
    const padding = randomBytes(alignment - (this.#length % alignment))
    const plaintext = Buffer.concat([
      serializeIndex(this.#entries, indexVersion),
      randomBytes(indexSaltLength),
    ])
    const iv = hash.hash(plaintext)
    const localIndex = encryption.encrypt(plaintext, iv)
    const localIndexOffset = this.#length + padding.length
    const postamble = serializePostamble({ iv, localIndexOffset, localIndexLength: localIndex.length })
    const length = localIndexOffset + localIndex.length + postamble.length
    const tail = [padding, localIndex, postamble]
    return {
      packBlobId: this.packBlobId,
      parts: this.#inOnePiece(tail, length) ?? [this.#bytes.subarray(0, this.#length), ...tail],
      length,
      entries: this.#entries,
    }
  }

  /** All bytes in the pack's own buffer where that has the room: storages that need one piece would copy the pack otherwise. */
  #inOnePiece(tail: readonly Uint8Array[], length: number): [Uint8Array] | undefined {
    const bytes = this.#bytes
    if (bytes === undefined || length > bytes.length) return undefined
    let at = this.#length
    for (const part of tail) {
      bytes.set(part, at)
      at += part.length
    }
    return [bytes.subarray(0, length)]
  }

  /** The buffer, made longer when it has to be. */
  #reach(length: number): PackBytes {
    const had = this.#bytes ?? new Uint8Array(0)
    if (length <= had.length) return had
    const grown = Buffer.allocUnsafeSlow(Math.max(length, Math.min(2 * had.length, length + (8 << 20))))
    grown.set(had)
    this.#bytes = grown
    return grown
  }
}

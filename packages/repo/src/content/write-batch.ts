import { type ContentId, packPrefixOf } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'
import type { PackBuilder } from '../pack/pack-builder.ts'
import type { WriteSession } from './write-session.ts'

/** What one session has written and no index shows yet: entries, and the packs that are not durable. */
export class WriteBatch {
  readonly session: WriteSession
  /** The entry that counts for each content. */
  readonly entries = new Map<ContentId, IndexEntry>()
  /** Open packs and those on their way, by name. */
  readonly packs = new Map<string, PackBuilder>()
  readonly #open = new Map<'p' | 'q', PackBuilder>()
  readonly #newPack: (prefix: 'p' | 'q', session: WriteSession) => PackBuilder

  constructor(session: WriteSession, newPack: (prefix: 'p' | 'q', session: WriteSession) => PackBuilder) {
    this.session = session
    this.#newPack = newPack
  }

  /** The open pack that a content goes to; begins one when there is none. */
  packFor(id: ContentId): PackBuilder {
    const prefix = packPrefixOf(id)
    const open = this.#open.get(prefix) ?? this.#newPack(prefix, this.session)
    this.#open.set(prefix, open)
    this.packs.set(open.packBlobId, open)
    return open
  }

  /** Takes a pack out of the open ones: nothing is added to it any more. */
  close(pack: PackBuilder): void {
    for (const [prefix, open] of this.#open) if (open === pack) this.#open.delete(prefix)
  }

  /** Every open pack; they are closed by asking. */
  closeAll(): PackBuilder[] {
    const open = [...this.#open.values()]
    this.#open.clear()
    return open
  }

  /** The bytes of a content whose pack is not durable yet. */
  sealed({ packBlobId, contentId }: IndexEntry): Uint8Array | undefined {
    return this.packs.get(packBlobId)?.sealedContent(contentId)
  }
}

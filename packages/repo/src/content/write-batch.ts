import { type ContentId, packPrefixOf } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'
import type { PackBuilder } from '../pack/pack-builder.ts'
import type { WriteSession } from './write-session.ts'

/** A pack that nothing was added to yet; with `away`, one that somebody else fills. */
export type NewPack = (prefix: 'p' | 'q', session: WriteSession, away: boolean) => PackBuilder

/** What one session has written and no index shows yet: entries, and the packs that are not durable. */
export class WriteBatch {
  readonly session: WriteSession
  /** The entry that counts for each content. */
  readonly entries = new Map<ContentId, IndexEntry>()
  /** Open packs and those on their way, by name. */
  readonly packs = new Map<string, PackBuilder>()
  readonly #open = new Map<'p' | 'q', PackBuilder>()
  readonly #newPack: NewPack

  constructor(session: WriteSession, newPack: NewPack) {
    this.session = session
    this.#newPack = newPack
  }

  /** The open pack that a content goes to; begins one when there is none. */
  packFor(id: ContentId): PackBuilder {
    const prefix = packPrefixOf(id)
    const open = this.#open.get(prefix) ?? this.#newPack(prefix, this.session, false)
    this.#open.set(prefix, open)
    this.packs.set(open.packBlobId, open)
    return open
  }

  /** A pack for file data that somebody else fills. */
  beginAway(): PackBuilder {
    const pack = this.#newPack('p', this.session, true)
    this.packs.set(pack.packBlobId, pack)
    return pack
  }

  /** The open pack for file data, for somebody else to fill on; undefined when there is none up to this length. */
  takeOpenData(atMost: number): PackBuilder | undefined {
    const open = this.#open.get('p')
    if (open === undefined || open.length > atMost) return undefined
    this.#open.delete('p')
    return open
  }

  /**
   * Takes in a pack that was away. One that is not full becomes the open one for file data, or part of that where it has the
   * room.
   */
  bringHome(pack: PackBuilder, maxPackSize: number): 'open' | 'merged' | 'full' {
    const open = this.#open.get('p')
    if (pack.length >= maxPackSize) return 'full'
    if (open === undefined) {
      this.#open.set('p', pack)
      return 'open'
    }
    if (open.length + pack.length > maxPackSize) return 'full'
    open.absorb(pack)
    this.packs.delete(pack.packBlobId)
    return 'merged'
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
  sealed(entry: IndexEntry): Uint8Array | undefined {
    return this.packs.get(entry.packBlobId)?.sealedAt(entry)
  }
}

import type { ActionItem, ResourceIdentifier } from '@lateen/plugin'
import { type CollectedItem, type CollectedItems, itemKey } from '../../item/item.ts'
import { describeItem, ItemError, itemFields, messageOf } from '../../item/item-error.ts'
import { isIncluded } from '../items/back-up-item.ts'
import type { ItemRun } from '../items/item-run.ts'
import type { LoadedItem } from '../items/loaded-item.ts'
import { isPlain } from '../items/store-plain-items.ts'

/** Items that belong together and are stored as one. */
export interface ItemBlock {
  readonly items: readonly LoadedItem[]
  readonly byKey: ReadonlyMap<string, readonly LoadedItem[]>
}

/** A piece of work for a worker. */
export type BlockUnit =
  | { kind: 'block'; block: ItemBlock; first: CollectedItem; ordered: boolean }
  /** Items that need no more than copying. Together, because a block each would cost more than the copying does. */
  | { kind: 'plain'; items: readonly CollectedItem[]; first: CollectedItem }

const plainItemsPerUnit = 64

export interface BuildBlocksOptions {
  run: ItemRun
  collected: CollectedItems
  signal: AbortSignal
}

/**
 * The work of a backup, in the order of the collected items but for those that the user wants first: each item once, together with all that is related to it, directly or
 * through others. Built as it is asked for. Throws only the signal's reason: what cannot be read is logged.
 */
export async function* buildBlocks(options: BuildBlocksOptions): AsyncGenerator<BlockUnit, void, undefined> {
  yield* orderedBlocks(options)
  let plain: CollectedItem[] = []
  for (const item of options.collected) {
    options.signal.throwIfAborted()
    if (item.ordered) continue
    const copied = isPlain(item, options.run)
    if (copied) plain.push(item)
    const [first] = plain
    if (first !== undefined && (!copied || plain.length >= plainItemsPerUnit)) {
      yield { kind: 'plain', items: plain, first }
      plain = []
    }
    const block = copied ? undefined : await buildBlock(item, options)
    if (block !== undefined) yield { kind: 'block', block, first: item, ordered: false }
  }
  const [first] = plain
  if (first !== undefined) yield { kind: 'plain', items: plain, first }
}

/** The blocks of items that the user wants first. */
async function* orderedBlocks(options: BuildBlocksOptions): AsyncGenerator<BlockUnit, void, undefined> {
  for (const item of options.collected) {
    options.signal.throwIfAborted()
    const block = item.ordered ? await buildBlock(item, options) : undefined
    if (block !== undefined) yield { kind: 'block', block, first: item, ordered: true }
  }
}

/** Undefined when the item is in a block already, or is left out. */
async function buildBlock(seed: CollectedItem, options: BuildBlocksOptions): Promise<ItemBlock | undefined> {
  const block = new BlockBuilder(options)
  await block.addSeed(seed)
  return block.items.length === 0 ? undefined : block
}

class BlockBuilder implements ItemBlock {
  readonly items: LoadedItem[] = []
  readonly byKey = new Map<string, LoadedItem[]>()
  readonly #options: BuildBlocksOptions

  constructor(options: BuildBlocksOptions) {
    this.#options = options
  }

  async addSeed(seed: CollectedItem): Promise<void> {
    const { run, collected } = this.#options
    const versions = collected.versionsOf(seed).filter(version => run.record.claim(version))
    const loaded: LoadedItem[] = []
    for (const version of versions) {
      try {
        loaded.push(await run.source.load(version))
      } catch (error) {
        if (!(error instanceof ItemError)) throw error
        run.record.fail(version)
        run.log.error({ ...itemFields(version), error }, 'An item cannot be backed up')
      }
    }
    await this.#addWithRelated(loaded)
  }

  /** Adds the versions of one object and, asked of the first of them, everything related. */
  async #addWithRelated(versions: readonly LoadedItem[]): Promise<void> {
    const included = versions.filter(item => isIncluded(item, this.#options))
    const [first] = included
    if (first === undefined) return
    this.items.push(...included)
    this.byKey.set(itemKey(first.ref), included)
    for (const related of await this.#relatedTo(first)) await this.#addRelated(first, related)
  }

  async #addRelated(to: LoadedItem, id: ResourceIdentifier): Promise<void> {
    const { run, collected, signal } = this.#options
    try {
      const ref = await run.source.locate(id)
      const versions = collected.versionsOf(ref)
      const claimed = versions.length === 0 ? [ref] : versions
      if (!claimed.map(version => run.record.claim(version)).includes(true)) return
      const items = await run.source.read(ref, signal)
      if (items.length === 0) {
        run.log.warn(itemFields(ref), `An item that is related to ${describeItem(to.ref)} does not exist`)
      }
      await this.#addWithRelated(items)
    } catch (error) {
      if (!(error instanceof ItemError)) throw error
      run.log.error({ ...itemFields(to.ref), error }, 'An item that is related to this one cannot be read')
    }
  }

  async #relatedTo({ ref, object }: LoadedItem): Promise<ResourceIdentifier[]> {
    const { run, signal } = this.#options
    const input = { item: object, backup: run.backup, signal }
    const related: ResourceIdentifier[] = []
    const ask = async (name: string, answer: () => Promise<readonly ResourceIdentifier[] | undefined>) => {
      signal.throwIfAborted()
      try {
        related.push(...((await answer()) ?? []))
      } catch (cause) {
        signal.throwIfAborted()
        const error = new ItemError('ITEM_ACTION_FAILED', ref, {
          reason: `the action ${name} failed: ${messageOf(cause)}`,
          hint: 'the item is backed up, but perhaps not together with what belongs to it',
          cause,
        })
        run.log.error({ ...itemFields(ref), error }, 'What is related to an item cannot be found out')
      }
    }
    for (const { name, action } of this.#actionsFor(run.blockActions, { ref, object })) {
      await ask(name, () => action.getRelatedItems(input))
    }
    for (const { name, action } of this.#actionsFor(run.itemActions, { ref, object })) {
      await ask(name, async () => action.getAdditionalItems?.(input))
    }
    return related
  }

  #actionsFor<Action>(
    table: {
      forPlace(type: LoadedItem['ref']['groupResource'], namespace: string): readonly Matching<Action>[]
    },
    { ref, object }: Pick<LoadedItem, 'ref' | 'object'>,
  ): Matching<Action>[] {
    const { labels } = object.metadata
    return table.forPlace(ref.groupResource, ref.namespace).filter(({ matches }) => matches(labels))
  }
}

interface Matching<Action> {
  name: string
  action: Action
  matches(labels: ActionItem['metadata']['labels']): boolean
}

import path from 'node:path'
import type { ActionItem } from '@lateen/plugin'
import { parseItem } from '../../item/item-json.ts'
import { Spool } from '../../scratch/spool.ts'
import { SpoolReader } from '../../scratch/spool-reader.ts'
import type { RestoreAction, RestoredItem, RestoredObject } from '../items/restored-item.ts'
import type { PlannedItem, PlannedObject } from './planned-item.ts'

interface Body {
  readonly offset: number
  readonly length: number
}

interface Row {
  readonly item: RestoredItem
  readonly source: RestoredObject['source']
  readonly live: Body | undefined
  readonly desired: Body | undefined
}

const encoder = new TextEncoder()

/** The items of a plan: names and reasons in memory, objects in scratch. Disposing removes the scratch file. */
export class PlanRows implements AsyncDisposable {
  readonly #rows: Row[] = []
  readonly #spool: Spool | undefined
  readonly #counts: Record<RestoreAction, number> = { created: 0, updated: 0, skipped: 0, failed: 0 }

  private constructor(spool: Spool | undefined) {
    this.#spool = spool
  }

  /** Without `withObjects` only names and reasons are kept. Throws ScratchError. */
  static async create({
    scratch,
    withObjects,
  }: {
    scratch: string
    withObjects: boolean
  }): Promise<PlanRows> {
    return new PlanRows(withObjects ? await Spool.create(path.join(scratch, 'planned-objects')) : undefined)
  }

  get counts(): Readonly<Record<RestoreAction, number>> {
    return this.#counts
  }

  add({ item, source, live, desired }: RestoredObject): void {
    this.#counts[item.action] += 1
    this.#rows.push({ item, source, live: this.#keep(live), desired: this.#keep(desired) })
  }

  /** What to wait for before more is added. Throws and rejects with ScratchError. */
  ready(): Promise<void> | undefined {
    return this.#spool?.ready()
  }

  /** By type, namespace and name. Throws ScratchError. */
  async *sorted(): AsyncGenerator<PlannedItem> {
    await this.#spool?.flush()
    const reader = new SpoolReader(this.#spool === undefined ? [] : [this.#spool])
    const load = async (body: Body | undefined): Promise<ActionItem | undefined> =>
      body && parseItem(await reader.read({ file: 0, ...body }))
    for (const { item, source, live, desired } of this.#rows.sort(inOrder)) {
      const objects = async (): Promise<PlannedObject> => ({
        live: await load(live),
        desired: await load(desired),
      })
      yield { ...item, source, objects }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spool?.[Symbol.asyncDispose]()
  }

  #keep(object: ActionItem | undefined): Body | undefined {
    if (object === undefined || this.#spool === undefined) return undefined
    const bytes = encoder.encode(JSON.stringify(object))
    return { offset: this.#spool.append(bytes), length: bytes.length }
  }
}

function inOrder({ item: a }: Row, { item: b }: Row): number {
  return (
    compare(a.groupResource, b.groupResource) || compare(a.namespace, b.namespace) || compare(a.name, b.name)
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

import { type ContentId, parseContentId } from '../../index-format/content-id.ts'
import { compareEntries } from '../../index-format/index-entry.ts'
import { emptySchedule, type MaintenanceSchedule } from '../schedule.ts'

/** What the model draws its choices from; `seededRandom` of the tests is one. */
export interface ModelRandom {
  integer(from: number, to: number): number
  chance(probability: number): boolean
  pick<T>(values: readonly T[]): T
}

/** An index entry of the model, visible to everybody who refreshes after `sequence`. */
export interface ModelEntry {
  contentId: ContentId
  timestamp: number
  packBlobId: string
  deleted: boolean
  sequence: number
}

/** A snapshot manifest of the model; checkpoints are snapshots too. */
export interface ModelSnapshot {
  id: number
  contents: ReadonlySet<ContentId>
  complete: boolean
  addedAt: number
  removedAt: number
}

/** A pack of the model. */
export interface ModelPack {
  id: string
  session: string
  timestamp: number
  contents: readonly ContentId[]
}

/** What one client knows: everything that was visible at its last refresh, and what it wrote itself. */
export interface View {
  sequence: number
  watermark: number
  own: ModelEntry[]
}

/** A snapshot that needs a content which is gone. */
export interface Loss {
  at: number
  event: string
  snapshot: number
  contentId: ContentId
  /** No entry counts any more, or the entry's pack is deleted. */
  reason: 'dropped' | 'pack-deleted'
}

/**
 * An abstract repository: contents, packs, indexes, snapshots and the maintenance schedule, without bytes. Every
 * visible change has a sequence number, so that a client's view is a number.
 */
export class World {
  /** Storage time, milliseconds. */
  now = 1_800_000_000_000
  watermark = 0
  schedule: MaintenanceSchedule = emptySchedule
  /** Changes with every write of the schedule blob, as its ciphertext does. */
  scheduleVersion = 0
  readonly packs = new Map<string, ModelPack>()
  /** Session name to checkpoint time. */
  readonly sessions = new Map<string, number>()
  readonly snapshots: ModelSnapshot[] = []
  readonly losses: Loss[] = []
  readonly events: { at: number; event: string }[] = []
  readonly universe: readonly ContentId[]
  readonly #visible = new Set<ModelSnapshot>()
  readonly #entries = new Map<ContentId, ModelEntry[]>()
  #sequence = 0
  #names = 0

  constructor(contents: number) {
    this.universe = Array.from({ length: contents }, (_, n) =>
      parseContentId(n.toString(16).padStart(32, '0')),
    )
  }

  newName(prefix: string): string {
    this.#names += 1
    return `${prefix}${this.#names}`
  }

  view(): View {
    return { sequence: this.#sequence, watermark: this.watermark, own: [] }
  }

  /** The entry that counts for a content in a view; undefined when the content does not exist there. */
  entry(view: View, contentId: ContentId): ModelEntry | undefined {
    let best: ModelEntry | undefined
    for (const entry of this.#entries.get(contentId) ?? []) {
      if (entry.sequence <= view.sequence && (!best || compareEntries(entry, best) > 0)) best = entry
    }
    for (const entry of view.own) {
      if (entry.contentId === contentId && (!best || compareEntries(entry, best) > 0)) best = entry
    }
    return best?.deleted && best.timestamp <= view.watermark ? undefined : best
  }

  /** Entries that count in a view, deleted ones included. */
  entries(view: View): ModelEntry[] {
    return this.universe.map(id => this.entry(view, id)).filter(entry => entry !== undefined)
  }

  /** Snapshots visible in a view. */
  visibleSnapshots(view: View): ModelSnapshot[] {
    return this.snapshots.filter(
      ({ addedAt, removedAt }) => addedAt <= view.sequence && view.sequence < removedAt,
    )
  }

  /** Makes entries and snapshots visible at once, as one index blob does. */
  commit(
    what: string,
    change: { entries?: ModelEntry[]; add?: ModelSnapshot; remove?: ModelSnapshot[] },
  ): void {
    this.#sequence += 1
    for (const entry of change.entries ?? []) {
      entry.sequence = this.#sequence
      const list = this.#entries.get(entry.contentId)
      if (list) list.push(entry)
      else this.#entries.set(entry.contentId, [entry])
    }
    for (const snapshot of change.remove ?? []) {
      snapshot.removedAt = this.#sequence
      this.#visible.delete(snapshot)
    }
    if (change.add) {
      this.#visible.add(change.add)
      change.add.addedAt = this.#sequence
      this.snapshots.push(change.add)
    }
    this.check(what)
  }

  advanceWatermark(what: string, seconds: number): void {
    if (seconds <= this.watermark) return
    this.watermark = seconds
    this.check(what)
  }

  deletePack(what: string, id: string): void {
    this.packs.delete(id)
    this.check(`${what} deletes ${id}`)
  }

  writeSchedule(schedule: MaintenanceSchedule): number {
    this.schedule = schedule
    this.scheduleVersion += 1
    return this.scheduleVersion
  }

  /** The invariant: everything that a visible snapshot needs can be read by a client that refreshes now. */
  check(event: string): void {
    this.events.push({ at: this.now, event })
    const view = this.view()
    for (const snapshot of this.#visible) {
      for (const contentId of snapshot.contents) {
        const entry = this.entry(view, contentId)
        if (entry !== undefined && this.packs.has(entry.packBlobId)) continue
        const reason = entry === undefined ? 'dropped' : 'pack-deleted'
        this.losses.push({ at: this.now, event, snapshot: snapshot.id, contentId, reason })
      }
    }
  }
}

/** A client of the model: yields how many milliseconds pass before its next step. */
export type Actor = Generator<number, void, void>

/** Runs the actors in the order of time until all ended, `until` has come, or something was lost. */
export function runActors(world: World, actors: readonly Actor[], until: number): void {
  const waiting = actors.map(actor => ({ actor, at: world.now }))
  while (world.losses.length === 0) {
    let next = waiting[0]
    for (const other of waiting) if (next === undefined || other.at < next.at) next = other
    if (next === undefined || next.at > until) return
    world.now = next.at
    const step = next.actor.next()
    next.at = step.done ? Number.POSITIVE_INFINITY : next.at + step.value
  }
}

import type { ContentId } from '../../index-format/content-id.ts'
import type { Actor, ModelEntry, ModelRandom, ModelSnapshot, View, World } from './world.ts'

export const minute = 60_000
export const hour = 60 * minute

/** How a writer of the model behaves; the defaults are the bounds that Kopia demands of every writer. */
export interface WriterBounds {
  refreshEvery: number
  flushEvery: number
  checkpointEvery: number
  /** Until when unchanged files of the parent snapshot are taken over without reading them. */
  reuses: 'while-parent-exists' | 'while-contents-live' | 'always'
  /** Longest upload, in steps of 1 to 9 minutes. */
  maxSteps: number
}

/** Bounds of section 17.6 of the format's description: refresh 15, flush 10, checkpoint 45 minutes. */
export const kopiaWriterBounds: WriterBounds = {
  refreshEvery: 15 * minute,
  flushEvery: 10 * minute,
  checkpointEvery: 45 * minute,
  reuses: 'while-parent-exists',
  maxSteps: 120,
}

/** Everything an actor needs. */
export interface ActorContext {
  world: World
  random: ModelRandom
  name: string
  /** Difference of this client's clock from the storage's, milliseconds. */
  skew: number
}

interface Upload {
  session: string
  view: View
  parent: ModelSnapshot | undefined
  /** What the source holds: few contents of the universe, so that others become garbage and come back later. */
  source: readonly ContentId[]
  used: Set<ContentId>
  pending: ModelEntry[]
  checkpoint: ModelSnapshot | undefined
  refreshedAt: number
  flushedAt: number
  checkpointedAt: number
}

/** Uploads one snapshot after the other, for ever; now and then it dies in the middle and leaves what is there. */
export function* writer(context: ActorContext, bounds: WriterBounds): Actor {
  const { random } = context
  for (;;) {
    yield random.integer(0, 10 * 60) * minute
    yield* upload(context, bounds)
  }
}

function* upload(context: ActorContext, bounds: WriterBounds): Actor {
  const { world, random, name } = context
  const state = begin(context)
  const steps = random.integer(1, random.chance(0.3) ? bounds.maxSteps : 12)
  const dies = random.chance(0.1)
  for (let step = 0; step < steps; step += 1) {
    addContent(context, state, { bounds, progress: step / steps })
    yield random.integer(1, 9) * minute
    if (dies && step > steps / 2) return abandon(state)
    if (world.now - state.refreshedAt >= bounds.refreshEvery) refresh(world, state)
    if (world.now - state.checkpointedAt >= bounds.checkpointEvery) {
      yield* flush(context, state, { complete: false })
    } else if (world.now - state.flushedAt >= bounds.flushEvery) {
      yield* flush(context, state)
    }
  }
  yield* flush(context, state, { complete: true })
  world.events.push({ at: world.now, event: `${name} finished` })
}

// What a dead upload leaves is a snapshot that somebody deletes some day.
function abandon({ checkpoint }: Upload): void {
  if (checkpoint) checkpoint.complete = true
}

function begin({ world, random }: ActorContext): Upload {
  const view = world.view()
  return {
    session: world.newName('s'),
    view,
    parent: world.visibleSnapshots(view).findLast(snapshot => snapshot.complete),
    source: Array.from({ length: random.integer(1, 7) }, () => random.pick(world.universe)),
    used: new Set(),
    pending: [],
    checkpoint: undefined,
    refreshedAt: world.now,
    flushedAt: world.now,
    checkpointedAt: world.now,
  }
}

function refresh(world: World, state: Upload): void {
  state.view = { ...world.view(), own: state.pending }
  state.refreshedAt = world.now
}

function addContent(
  { world, random, skew }: ActorContext,
  state: Upload,
  { bounds, progress }: { bounds: WriterBounds; progress: number },
): void {
  const unchanged = random.chance(0.4) ? unchangedContent(world, state, { bounds, progress }) : undefined
  if (unchanged !== undefined) {
    state.used.add(unchanged)
    return
  }
  const { view } = state
  const contentId = random.pick(state.source)
  state.used.add(contentId)
  const known = world.entry(view, contentId)
  if (known && !known.deleted) return
  const timestamp = Math.max(Math.floor((world.now + skew) / 1000), (known?.timestamp ?? 0) + 1)
  // The marker stands before the first pack of the session is begun.
  if (!world.sessions.has(state.session)) world.sessions.set(state.session, world.now + skew)
  const entry = { contentId, timestamp, packBlobId: '', deleted: false, sequence: 0 }
  state.pending.push(entry)
  view.own = state.pending
}

// A walk comes to each unchanged file of the parent once, in order.
function unchangedContent(
  world: World,
  { parent, view }: Upload,
  { bounds, progress }: { bounds: WriterBounds; progress: number },
): ContentId | undefined {
  const contentId = [...(parent?.contents ?? [])][Math.floor(progress * (parent?.contents.size ?? 0))]
  if (parent === undefined || contentId === undefined) return undefined
  switch (bounds.reuses) {
    case 'always':
      return contentId
    case 'while-parent-exists':
      return world.visibleSnapshots(view).includes(parent) ? contentId : undefined
    case 'while-contents-live':
      return world.entry(view, contentId)?.deleted === false ? contentId : undefined
  }
}

function* flush(context: ActorContext, state: Upload, snapshot?: { complete: boolean }): Actor {
  const { world, random, name } = context
  const entries = state.pending
  if (entries.length > 0) putPack(context, state)
  yield random.integer(0, 4) * minute
  const manifest = snapshot && {
    id: world.snapshots.length,
    contents: new Set(state.used),
    complete: snapshot.complete,
    addedAt: 0,
    removedAt: Number.POSITIVE_INFINITY,
  }
  const old = manifest && state.checkpoint ? [state.checkpoint] : []
  world.commit(`${name} flushes`, { entries, remove: old, ...(manifest ? { add: manifest } : {}) })
  world.sessions.delete(state.session)
  state.session = world.newName('s')
  state.pending = []
  if (manifest) {
    state.checkpoint = manifest
    state.checkpointedAt = world.now
  }
  state.flushedAt = world.now
  refresh(world, state)
}

function putPack({ world }: ActorContext, state: Upload): void {
  const id = world.newName('p')
  for (const entry of state.pending) entry.packBlobId = id
  const contents = state.pending.map(({ contentId }) => contentId)
  world.packs.set(id, { id, session: state.session, timestamp: world.now, contents })
}

/** Deletes a snapshot now and then, complete or not, whatever others do. */
export function* deleter({ world, random, name }: ActorContext): Actor {
  for (;;) {
    yield random.integer(1, 6 * 60) * minute
    const candidates = world.visibleSnapshots(world.view()).filter(({ complete }) => complete)
    if (candidates.length > 2)
      world.commit(`${name} deletes a snapshot`, { remove: [random.pick(candidates)] })
  }
}

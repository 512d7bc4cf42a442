import { goTimeFromMillis } from '../../go-json/go-time.ts'
import type { ContentId } from '../../index-format/content-id.ts'
import { hiddenByWatermark } from '../../index-format/index-entry.ts'
import { blobFate } from '../blob-fate.ts'
import { chooseMode, rescheduled } from '../choose-mode.ts'
import { contentFate } from '../content-fate.ts'
import { defaultMaintenanceParams } from '../params.ts'
import { type FullTask, planFullTasks } from '../plan-full.ts'
import type { SafetyParameters } from '../safety.ts'
import { type MaintenanceSchedule, type RunRecord, recordRun } from '../schedule.ts'
import { shortPacks } from '../short-packs.ts'
import { type ActorContext, minute } from './uploads.ts'
import type { Actor, ModelEntry, View } from './world.ts'

/** How a maintainer of the model behaves. */
export interface MaintainerRules {
  safety: SafetyParameters
  /** Kopia's: rewrite before drop and delete, one frozen view, history kept in memory. Ours: see `run.ts`. */
  kind: 'kopia' | 'ours'
  /** Reads the schedule again before each destructive task; only ours can. */
  checksLease: boolean
  /** Probability that a run is forced although it is not due. */
  forced: number
  /** Longest duration of one phase of a task. */
  maxPhase: number
  /** Pause between two attempts at most. */
  maxPause: number
}

interface Run {
  context: ActorContext
  rules: MaintainerRules
  view: View
  /** Storage time at which the schedule was written. */
  start: number
  lease: number
  /** What Kopia keeps in memory and writes back; ours reads it anew. */
  schedule: MaintenanceSchedule
  session: string
  /** What ours leaves alone, whatever becomes of it during the run. */
  packsAtStart: ReadonlySet<string>
}

const params = defaultMaintenanceParams('owner')

/** Runs full maintenance whenever it is due or forced, for ever. */
export function* maintainer(context: ActorContext, rules: MaintainerRules): Actor {
  const { world, random } = context
  for (;;) {
    yield random.integer(1, rules.maxPause / minute) * minute
    const now = goTimeFromMillis(world.now + context.skew)
    const request = { mode: random.chance(rules.forced) ? 'full' : 'auto', identity: 'owner' } as const
    const choice = chooseMode(request, { params, schedule: world.schedule, now })
    if (choice.kind !== 'run') continue
    const read = world.schedule
    // Two clients may both find maintenance due before either has written.
    if (random.chance(0.2)) yield random.integer(0, 2) * minute
    const lease = world.writeSchedule(rescheduled(read, choice.mode, { params, now }))
    if (choice.mode === 'full') yield* fullRun(context, rules, lease)
  }
}

function* fullRun(context: ActorContext, rules: MaintainerRules, lease: number): Actor {
  const { world } = context
  const now = goTimeFromMillis(world.now + context.skew)
  const order = rules.kind === 'kopia' ? 'kopia' : 'ours'
  const tasks = planFullTasks({ schedule: world.schedule, safety: rules.safety, now, order })
  const view = world.view()
  const run: Run = {
    context,
    rules,
    view,
    start: world.now,
    lease,
    schedule: world.schedule,
    session: world.newName('s'),
    packsAtStart: packsAtStart(world.entries(view), tasks, rules),
  }
  for (const planned of tasks) {
    if (!planned.allowed) continue
    yield phase(run)
    if (lostLease(run)) return
    const started = goTimeFromMillis(world.now + context.skew)
    const done = yield* runTask(run, planned)
    if (!done) return
    record(run, planned.task, started)
  }
}

function packsAtStart(
  entries: readonly ModelEntry[],
  tasks: readonly FullTask[],
  { kind, safety }: MaintainerRules,
): Set<string> {
  if (kind !== 'ours' || !safety.keepReferencedAtStart) return new Set()
  const dropBefore = tasks.find(({ dropBefore: time }) => time !== undefined)?.dropBefore ?? 0n
  const watermark = Number(dropBefore / 1_000_000_000n)
  return new Set(
    entries.filter(entry => !hiddenByWatermark(entry, watermark)).map(({ packBlobId }) => packBlobId),
  )
}

function* runTask(run: Run, planned: FullTask): Generator<number, boolean, void> {
  switch (planned.task) {
    case 'snapshot-gc':
      return yield* collect(run)
    case 'full-rewrite-contents':
      return yield* rewrite(run)
    case 'full-drop-deleted-content':
      return drop(run, planned.dropBefore ?? 0n)
    case 'full-delete-blobs':
      return yield* deletePacks(run)
  }
}

function* collect(run: Run): Generator<number, boolean, void> {
  const { world } = run.context
  const used = new Set<ContentId>()
  for (const snapshot of world.visibleSnapshots(run.view)) for (const id of snapshot.contents) used.add(id)
  yield phase(run)
  const changes: ModelEntry[] = []
  const copies: ModelEntry[] = []
  for (const entry of world.entries(run.view)) {
    const fate = contentFate({ ...entry, used: used.has(entry.contentId) }, run.start, run.rules.safety)
    if (fate === 'mark-deleted') changes.push(changed(run, entry, true))
    if (fate === 'undelete') copies.push(changed(run, entry, false))
  }
  // Marks carry the time at which they were decided but become visible only when they are flushed.
  yield phase(run)
  if (lostLease(run)) return false
  if (!pack(run, copies)) return false
  yield run.context.random.integer(0, 3) * minute
  commit(run, 'collects', [...changes, ...copies])
  return true
}

function* rewrite(run: Run): Generator<number, boolean, void> {
  const { world, skew } = run.context
  const uses = new Map<string, { id: string; contents: number; bytes: number }>()
  const entries = world.entries(run.view)
  for (const { packBlobId: id } of entries) {
    const use = uses.get(id) ?? { id, contents: 0, bytes: 0 }
    uses.set(id, { id, contents: use.contents + 1, bytes: use.bytes + 10 })
  }
  const short = new Set(shortPacks(uses.values(), modelPackSize).map(({ id }) => id))
  yield phase(run)
  const old = (entry: ModelEntry) =>
    world.now + skew - entry.timestamp * 1000 >= run.rules.safety.rewriteMinAge
  const moved = entries
    .filter(entry => short.has(entry.packBlobId) && old(entry))
    .map(entry => changed(run, entry, entry.deleted))
  if (!pack(run, moved)) return false
  yield run.context.random.integer(0, 3) * minute
  if (lostLease(run)) return false
  commit(run, 'rewrites', moved)
  return true
}

const modelPackSize = 100

function drop(run: Run, before: bigint): boolean {
  const { world, name } = run.context
  world.advanceWatermark(`${name} drops`, Number(before / 1_000_000_000n))
  run.view.watermark = world.watermark
  return true
}

function* deletePacks(run: Run): Generator<number, boolean, void> {
  const { world, name } = run.context
  const listed = [...world.packs.values()]
  const sessions = new Map(world.sessions)
  yield phase(run)
  // Ours takes in new indexes after listing, so that every pack it listed has its index in view or its marker listed.
  if (run.rules.kind === 'ours') run.view = world.view()
  const inView = new Set(world.entries(run.view).map(({ packBlobId }) => packBlobId))
  const referenced = inView.union(run.packsAtStart)
  for (const { id, session, timestamp } of listed) {
    const fate = blobFate(
      { timestamp },
      {
        referenced: referenced.has(id),
        sessionCheckpoint: sessions.get(session),
        maintenanceStart: run.start,
        safety: run.rules.safety,
      },
    )
    if (fate === 'delete') world.deletePack(name, id)
  }
  yield phase(run)
  return true
}

function changed({ context: { world, skew } }: Run, entry: ModelEntry, deleted: boolean): ModelEntry {
  const timestamp = Math.max(Math.floor((world.now + skew) / 1000), entry.timestamp + 1)
  return { ...entry, timestamp, deleted, sequence: 0 }
}

// False when a content to copy cannot be read any more: the task fails, as the real one does.
function pack(run: Run, entries: ModelEntry[]): boolean {
  const { world, skew } = run.context
  if (entries.length === 0) return true
  if (entries.some(entry => !world.packs.has(entry.packBlobId))) return false
  const id = world.newName('p')
  for (const entry of entries) entry.packBlobId = id
  world.sessions.set(run.session, world.now + skew)
  const contents = entries.map(({ contentId }) => contentId)
  world.packs.set(id, { id, session: run.session, timestamp: world.now, contents })
  return true
}

function commit(run: Run, what: string, entries: ModelEntry[]): void {
  const { world, name } = run.context
  world.commit(`${name} ${what}`, { entries })
  run.view.own = [...run.view.own, ...entries]
  world.sessions.delete(run.session)
}

function lostLease(run: Run): boolean {
  return run.rules.checksLease && run.context.world.scheduleVersion !== run.lease
}

function record(run: Run, task: string, start: bigint): void {
  const { world, skew } = run.context
  const end = goTimeFromMillis(world.now + skew)
  const entry: RunRecord = { start, end, success: true, error: '', extra: [], unknown: {} }
  // Kopia's collection reads the history anew; its other tasks write back what they read when they began.
  const fresh = run.rules.kind === 'ours' || task === 'snapshot-gc'
  run.schedule = recordRun(fresh ? world.schedule : run.schedule, task, entry)
  const held = !lostLease(run)
  const version = world.writeSchedule(run.schedule)
  if (held) run.lease = version
}

function phase(run: Run): number {
  return run.context.random.integer(0, run.rules.maxPhase / minute + 1) * minute
}

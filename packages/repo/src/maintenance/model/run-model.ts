import { safetyFull } from '../safety.ts'
import { type MaintainerRules, maintainer } from './maintainers.ts'
import { deleter, hour, kopiaWriterBounds, minute, type WriterBounds, writer } from './uploads.ts'
import { type Loss, type ModelRandom, runActors, World } from './world.ts'

/**
 * A model of maintenance beside everything else that uses a repository: two writers, a deleter, and two maintainers that
 * take themselves for the owner, each with its own clock (off by up to four minutes) and its own stale view. One seed is
 * one schedule of some two weeks. After every change that can lose something, all that any visible snapshot needs
 * (checkpoints of uploads under way included) must be readable.
 *
 * What the soft lease excludes. A maintainer writes the schedule first, which puts off everybody who runs when it is due
 * (Kopia in mode auto, and so Velero's jobs) by a whole interval; ours writes it again while it works. Two runs overlap
 * only when both read the schedule before either wrote it, when one is forced, or when a Kopia run outlasts the
 * interval. Ours reads the schedule again before each destructive task and before it makes deletions visible, so:
 *
 * - ours beside ours: excluded but for the moment between that reading and the change;
 * - ours running long while a Kopia run begins: excluded in the same way, ours stops;
 * - a Kopia run that is still under way while ours begins: not excluded. Kopia never looks again. That is harmless
 *   while its run takes less than the margins (four hours between collections, one hour extra): what it marks deleted
 *   by an old view, the next collection repairs, because ours deletes no pack that was referenced when its run began. A Kopia collection that takes many hours before its marks become
 *   visible, beside two others that complete meanwhile, can mark contents which are then dropped at once. Neither Kopia
 *   nor we can prevent that; one owner with one job at a time does.
 *
 * What no maintainer can repair: a writer that goes on reusing objects of a parent snapshot long after that was deleted.
 * The model assumes that a writer asks, with indexes as fresh as a refresh makes them, whether the parent is still there,
 * or whether the contents that it takes over are live.
 */
export interface ModelSettings {
  writers: WriterBounds
  kopia: MaintainerRules
  ours: MaintainerRules
  /** A second one of ours in Kopia's place. */
  twoOfOurs: boolean
  contents: number
  days: number
}

const kopiaRules: MaintainerRules = {
  safety: safetyFull,
  kind: 'kopia',
  checksLease: false,
  forced: 0.05,
  maxPhase: 40 * minute,
  maxPause: 2 * hour,
}

/** Kopia's bounds and safety parameters on both sides. */
export const defaultSettings: ModelSettings = {
  writers: kopiaWriterBounds,
  kopia: kopiaRules,
  ours: { ...kopiaRules, kind: 'ours', checksLease: true },
  twoOfOurs: false,
  contents: 24,
  days: 14,
}

/** What a schedule led to. */
export interface ModelResult {
  losses: readonly Loss[]
  /** What happened, oldest first, for the report of a loss. */
  events: readonly { at: number; event: string }[]
  packsDeleted: number
  snapshots: number
}

/** Runs one schedule; it ends at the first loss. */
export function runModel(random: ModelRandom, settings: ModelSettings = defaultSettings): ModelResult {
  const world = new World(settings.contents)
  const context = (name: string) => ({ world, random, name, skew: random.integer(-4, 5) * minute })
  const actors = [
    writer(context('writer 1'), settings.writers),
    writer(context('writer 2'), settings.writers),
    deleter(context('deleter')),
    maintainer(context('ours'), settings.ours),
    maintainer(context('other'), settings.twoOfOurs ? settings.ours : settings.kopia),
  ]
  runActors(world, actors, world.now + settings.days * 24 * hour)
  return {
    losses: world.losses,
    events: world.events,
    packsDeleted: world.events.filter(({ event }) => event.includes(' deletes p')).length,
    snapshots: world.snapshots.filter(({ complete }) => complete).length,
  }
}

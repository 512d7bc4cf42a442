import { formatGoTime, type GoTime } from '../go-json/go-time.ts'
import type { LogReport } from './clean-logs.ts'
import type { GarbageReport } from './collect-garbage.ts'
import type { OrphanReport } from './delete-orphans.ts'
import type { LockReport } from './extend-locks.ts'
import type { RewriteReport } from './rewrite-short-packs.ts'
import type { Tally } from './tally.ts'

/** What a task does, or would do, to how many things. */
export interface Effect extends Tally {
  verb: 'delete' | 'extend' | 'hide' | 'keep' | 'mark-deleted' | 'rewrite' | 'undelete' | 'write'
  what:
    | 'blob-locks'
    | 'contents'
    | 'index-blobs'
    | 'log-blobs'
    | 'marker-blobs'
    | 'pack-and-session-blobs'
    | 'pack-blobs'
  why: string
  /** Names of the blobs, where blobs are meant. */
  blobs?: readonly string[]
}

/** What snapshot collection does. */
export function garbageEffects(report: GarbageReport): Effect[] {
  const contents = (verb: Effect['verb'], tally: Tally, why: string): Effect => ({
    verb,
    what: 'contents',
    ...tally,
    why,
  })
  return existing([
    contents('mark-deleted', report['mark-deleted'], 'no snapshot needs them'),
    contents('undelete', report.undelete, 'marked deleted, but a snapshot needs them'),
    contents('keep', report['already-deleted'], 'marked deleted before, dropped by a later run'),
    contents('keep', report['too-recent'], 'no snapshot needs them, but an upload under way may'),
    contents('keep', report['in-use'], 'snapshots need them'),
    contents('keep', report.system, 'they hold manifests'),
  ])
}

/** What the rewrite of short packs does. */
export function rewriteEffects({ packs, rewritten, retained }: RewriteReport): Effect[] {
  return existing([
    { verb: 'rewrite', what: 'contents', ...rewritten, why: `they lie in ${packs.length} short packs` },
    { verb: 'keep', what: 'contents', ...retained, why: 'they lie in short packs but are too young to move' },
  ])
}

/** What the new watermark does. */
export function dropEffects(hidden: Tally, dropBefore: GoTime): Effect[] {
  const time = formatGoTime(dropBefore)
  return existing([
    { verb: 'hide', what: 'contents', ...hidden, why: `they were marked deleted at or before ${time}` },
  ])
}

/** What the deletion of unreferenced packs does. */
export function orphanEffects({ deleted, retained }: OrphanReport): Effect[] {
  const kept = (tally: Tally, why: string): Effect => ({
    verb: 'keep',
    what: 'pack-and-session-blobs',
    ...tally,
    why,
  })
  return existing([
    {
      verb: 'delete',
      what: 'pack-and-session-blobs',
      ...sizeOf(deleted),
      why: 'nothing points to them, and they are old enough',
      blobs: deleted.map(({ id }) => id),
    },
    kept(retained['too-recent'], 'nothing points to them yet, but their index may still be written'),
    kept(retained['session-active'], 'nothing points to them yet, but their session may be under way'),
    kept(retained['written-during-run'], 'they were written during this run'),
  ])
}

/** What the clean-up of logs does. */
export function logEffects({ deleted, kept }: LogReport): Effect[] {
  return existing([
    {
      verb: 'delete',
      what: 'log-blobs',
      ...sizeOf(deleted),
      why: 'beyond what the parameters keep',
      blobs: deleted.map(({ id }) => id),
    },
    { verb: 'keep', what: 'log-blobs', ...sizeOf(kept), why: 'within what the parameters keep' },
  ])
}

/** What the extension of object locks does. */
export function lockEffects({ extended, retention }: LockReport): Effect[] {
  const days = retention.period / 86_400_000
  return existing([
    {
      verb: 'extend',
      what: 'blob-locks',
      ...sizeOf(extended),
      why: `they last another ${days} days from now`,
    },
  ])
}

/** How many blobs these are, and their bytes. */
export function sizeOf(blobs: readonly { length: number }[]): Tally {
  return { count: blobs.length, bytes: blobs.reduce((sum, { length }) => sum + length, 0) }
}

function existing(effects: Effect[]): Effect[] {
  return effects.filter(effect => effect.count > 0)
}

import { formatGoTime, type GoTime } from '../go-json/go-time.ts'
import type { LogReport } from './clean-logs.ts'
import type { GarbageReport } from './collect-garbage.ts'
import type { OrphanReport } from './delete-orphans.ts'
import { sizeOf } from './effect.ts'
import type { LockReport } from './extend-locks.ts'
import type { RewriteReport } from './rewrite-short-packs.ts'
import type { RunExtra } from './schedule.ts'

/** Statistics of snapshot collection as Kopia keeps them in the history. */
export function garbageExtra(report: GarbageReport): RunExtra {
  const { 'mark-deleted': marked, 'already-deleted': before, undelete } = report
  const unreferenced = { count: marked.count + before.count, bytes: marked.bytes + before.bytes }
  return {
    kind: 'snapshotGCStats',
    data: {
      unreferencedContentCount: unreferenced.count,
      unreferencedContentSize: unreferenced.bytes,
      deletedContentCount: unreferenced.count,
      deletedContentSize: unreferenced.bytes,
      unreferencedRecentContentCount: report['too-recent'].count,
      unreferencedRecentContentSize: report['too-recent'].bytes,
      inUseContentCount: report['in-use'].count + undelete.count,
      inUseContentSize: report['in-use'].bytes + undelete.bytes,
      inUseSystemContentCount: report.system.count,
      inUseSystemContentSize: report.system.bytes,
      recoveredContentCount: undelete.count,
      recoveredContentSize: undelete.bytes,
    },
  }
}

/** Statistics of a rewrite. */
export function rewriteExtra({ rewritten, retained }: RewriteReport): RunExtra {
  return {
    kind: 'rewriteContentsStats',
    data: {
      toRewriteContentCount: rewritten.count,
      toRewriteContentSize: rewritten.bytes,
      rewrittenContentCount: rewritten.count,
      rewrittenContentSize: rewritten.bytes,
      retainedContentCount: retained.count,
      retainedContentSize: retained.bytes,
    },
  }
}

/** Statistics of dropping deleted contents. */
export function dropExtra(dropBefore: GoTime): RunExtra {
  return { kind: 'compactIndexesStats', data: { droppedContentsDeletedBefore: formatGoTime(dropBefore) } }
}

/** Statistics of pack deletion. */
export function orphanExtra({ deleted, retained }: OrphanReport): RunExtra {
  const { count, bytes } = sizeOf(deleted)
  const kept = Object.values(retained)
  return {
    kind: 'deleteUnreferencedPacksStats',
    data: {
      unreferencedPackCount: count,
      unreferencedTotalSize: bytes,
      deletedPackCount: count,
      deletedTotalSize: bytes,
      retainedPackCount: kept.reduce((sum, tally) => sum + tally.count, 0),
      retainedTotalSize: kept.reduce((sum, tally) => sum + tally.bytes, 0),
    },
  }
}

/** Statistics of the extension of object locks. */
export function lockExtra({ extended, retention }: LockReport): RunExtra {
  const count = extended.length
  return {
    kind: 'extendBlobRetentionStats',
    data: {
      toExtendBlobCount: count,
      extendedBlobCount: count,
      retentionPeriod: goDuration(retention.period),
    },
  }
}

/** Whole seconds as Go prints a duration: `720h0m0s`. */
function goDuration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  return `${Math.floor(seconds / 3600)}h${Math.floor(seconds / 60) % 60}m${seconds % 60}s`
}

/** Statistics of log clean-up. */
export function logExtra({ deleted, kept }: LogReport): RunExtra {
  const gone = sizeOf(deleted)
  const stay = sizeOf(kept)
  return {
    kind: 'cleanupLogsStats',
    data: {
      toDeleteBlobCount: gone.count,
      toDeleteBlobSize: gone.bytes,
      deletedBlobCount: gone.count,
      deletedBlobSize: gone.bytes,
      retainedBlobCount: stay.count,
      retainedBlobSize: stay.bytes,
    },
  }
}

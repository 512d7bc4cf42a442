import type { IndexEntry } from '../index-format/index-entry.ts'
import { TaskPool } from '../snapshot/task-pool.ts'
import type { MaintenanceWriter } from './maintained-repository.ts'
import { type PackUse, shortPacks } from './short-packs.ts'
import { count, emptyTally, type Tally } from './tally.ts'
import type { TaskContext } from './task-context.ts'

/** What a rewrite moved, or would move. */
export interface RewriteReport {
  packs: PackUse[]
  rewritten: Tally
  /** Contents of short packs that are too young to move. */
  retained: Tally
}

const contentsPerBatch = 2000
const parallelRewrites = 8
const bytesInMemory = 64 << 20

/**
 * Moves the contents of short packs to new, full ones, deleted contents too. The old packs are deleted by a later run.
 * Without a lease it only counts.
 */
export async function rewriteShortPacks(context: TaskContext): Promise<RewriteReport> {
  const { repository, lease, signal } = context
  const packs = shortPacks(await packUses(context), repository.format.format.maxPackSize)
  const report: RewriteReport = { packs, rewritten: emptyTally(), retained: emptyTally() }
  if (packs.length === 0) return report
  const moving = contentsToMove(context, report)
  if (lease === undefined) {
    for await (const batch of moving) for (const entry of batch) count(report.rewritten, entry.packedLength)
    return report
  }
  await repository.writing({ signal }, async writer => {
    for await (const batch of moving) {
      await lease.confirm(signal)
      await rewriteBatch(writer, batch, signal)
      for (const entry of batch) count(report.rewritten, entry.packedLength)
    }
    await lease.confirm(signal)
  })
  return report
}

async function packUses({ repository, signal }: TaskContext): Promise<Iterable<PackUse>> {
  const uses = new Map<string, PackUse>()
  for await (const { packBlobId, packedLength } of repository.contents.entries({
    includeDeleted: true,
    signal,
  })) {
    const use = uses.get(packBlobId)
    if (use === undefined) uses.set(packBlobId, { id: packBlobId, contents: 1, bytes: packedLength })
    else {
      use.contents += 1
      use.bytes += packedLength
    }
  }
  return uses.values()
}

async function* contentsToMove(context: TaskContext, report: RewriteReport): AsyncIterable<IndexEntry[]> {
  const { repository, safety, signal } = context
  const short = new Set(report.packs.map(({ id }) => id))
  const youngest = repository.clock.now() - safety.rewriteMinAge
  let batch: IndexEntry[] = []
  for await (const entry of repository.contents.entries({ includeDeleted: true, signal })) {
    if (!short.has(entry.packBlobId)) continue
    if (entry.timestamp * 1000 > youngest) count(report.retained, entry.packedLength)
    else if (batch.push(entry) === contentsPerBatch) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

async function rewriteBatch(
  { contents }: MaintenanceWriter,
  batch: IndexEntry[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const pool = new TaskPool({ tasks: parallelRewrites, weight: bytesInMemory })
  // In the order of packs, so that neighbours are read together.
  for (const { contentId, originalLength } of batch.sort(byPlace)) {
    await pool.start(originalLength, () => contents.rewrite(contentId, signal))
  }
  await pool.drain()
}

function byPlace(a: IndexEntry, b: IndexEntry): number {
  if (a.packBlobId !== b.packBlobId) return a.packBlobId < b.packBlobId ? -1 : 1
  return a.packOffset - b.packOffset
}

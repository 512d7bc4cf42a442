import { closeSync } from 'node:fs'
import { createSplitter, type Splitter } from '../splitter/splitter.ts'
import type { PackFiller } from './pack-filler.ts'
import { attemptReading, openSource, readUpTo } from './read-source.ts'
import { SealedTable } from './sealed-table.ts'
import type { FilesJob, SealedFiles } from './thread-messages.ts'

/** A job's result, and its contents as the filler wants them proposed. */
export interface SealedBatch {
  table: SealedTable
  counts: Uint32Array<ArrayBuffer>
  failures: SealedFiles['failures']
}

/**
 * Reads files that are small and seals their contents one after the other. A file that fails has no contents, and one that has
 * grown, or finds no room in the pack, has none either.
 */
export function sealFiles(filler: PackFiller, job: FilesJob, hashLength: number): SealedBatch {
  const table = SealedTable.withRoom(hashLength, job.paths.length)
  const splitter = createSplitter(job.splitter)
  const counts = new Uint32Array(job.paths.length)
  const failures: SealedBatch['failures'] = []
  for (const [at, path] of job.paths.entries()) {
    const before = table.count
    const read = attemptReading(() => readWhole(filler, { path, size: job.sizes[at] ?? 0, limit: job.limit }))
    if ('failure' in read) failures.push({ at, failure: read.failure })
    else if (read.value) sealHeld(filler, { splitter, compressor: job.compressor, table })
    counts[at] = table.count - before
  }
  return { table, counts, failures }
}

/** Reads a file behind what is in the pack; false when it is longer than the limit. */
function readWhole(
  filler: PackFiller,
  { path, size, limit }: { path: string | Uint8Array; size: number; limit: number },
): boolean {
  const descriptor = openSource(path)
  try {
    // One byte more tells a file that is longer.
    const room = filler.room(Math.min(limit + 1, filler.free))
    const length = readUpTo(descriptor, room, size)
    if (length === room.length) return false
    filler.hold(length)
    return true
  } finally {
    closeSync(descriptor)
  }
}

function sealHeld(
  filler: PackFiller,
  { splitter, compressor, table }: { splitter: Splitter; compressor: string | undefined; table: SealedTable },
): void {
  splitter.reset()
  do {
    const cut = splitter.nextCut(filler.plaintext())
    const length = cut < 0 ? filler.held : cut
    const hash = filler.name(length)
    table.add(hash, filler.seal(length, { hash, compressor }))
  } while (filler.held > 0)
}

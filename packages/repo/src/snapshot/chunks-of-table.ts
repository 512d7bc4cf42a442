import type { Chunk } from '../object/indirect.ts'
import { objectOfContent } from '../object/object-id.ts'
import type { SealedTable } from '../threads/sealed-table.ts'

/** Consecutive contents of a table as the chunks of an object, from `start` on, and where they end. */
export function chunksOfTable(
  table: SealedTable,
  { from = 0, count = table.count, start = 0 }: { from?: number; count?: number; start?: number } = {},
): { chunks: Chunk[]; size: number } {
  const chunks: Chunk[] = []
  let size = start
  for (let at = from; at < from + count; at++) {
    const length = table.originalLength(at)
    chunks.push({ start: size, length, object: objectOfContent(table.id(at)) })
    size += length
  }
  return { chunks, size }
}

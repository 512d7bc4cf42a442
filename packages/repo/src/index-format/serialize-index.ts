import type { EntryRecord } from './entry-record.ts'
import type { IndexEntry } from './index-entry.ts'
import type { SortedRecords } from './index-layout.ts'
import { writeIndexV1 } from './index-v1.ts'
import { writeIndexV2 } from './index-v2.ts'
import { mergeIndexes } from './merge-indexes.ts'
import { type PackIndex, type ParseIndexOptions, parseIndex } from './pack-index.ts'
import { defaultShardSize, shardOfRecord } from './shard.ts'
import { sortedEntries } from './sorted-entries.ts'

/** How indexes are written. */
export interface WriteIndexOptions {
  version: 1 | 2
  /** Entries per blob before a set is split. */
  shardSize?: number
}

/**
 * The plaintext of one index: entries in any order, the one that counts for each content.
 * Throws `INVALID_ARGUMENT` for entries that the format cannot hold.
 */
export function serializeIndex(entries: Iterable<IndexEntry>, version: 1 | 2): Uint8Array {
  return write(sortedEntries(entries).records, version)
}

/** Like `serializeIndex`, as one plaintext per shard; empty shards are left out, no entries give no shards. */
export function serializeShards(entries: Iterable<IndexEntry>, options: WriteIndexOptions): Uint8Array[] {
  const { count, records } = sortedEntries(entries)
  return writeShards({ atMost: count, records }, options)
}

/**
 * Merges indexes into as few as the shard size allows, keeping deleted entries. Streams: besides the inputs and the
 * result, memory grows with the number of packs only.
 */
export function mergeIndexBlobs(indexes: readonly PackIndex[], options: WriteIndexOptions): Uint8Array[] {
  const atMost = indexes.reduce((sum, { count }) => sum + count, 0)
  return writeShards({ atMost, records: () => mergeIndexes(indexes) }, options)
}

/** `mergeIndexBlobs` from plaintexts. Throws `CORRUPT` when one is no index. */
export function mergeIndexPlaintexts(
  plaintexts: readonly Uint8Array[],
  options: WriteIndexOptions & ParseIndexOptions,
): Uint8Array[] {
  return mergeIndexBlobs(
    plaintexts.map(plaintext => parseIndex(plaintext, options)),
    options,
  )
}

/** Records with an upper bound of their number, which spares a small set the walk that counts. */
interface BoundedRecords {
  atMost: number
  records: SortedRecords
}

function writeShards({ atMost, records }: BoundedRecords, options: WriteIndexOptions): Uint8Array[] {
  const { version, shardSize = defaultShardSize } = options
  if (atMost === 0) return []
  const shards = atMost <= shardSize ? 1 : Math.ceil(countOf(records) / shardSize)
  if (shards === 1) return [write(records, version)]
  const counts = new Float64Array(shards)
  for (const record of records()) {
    const shard = shardOfRecord(record, shards)
    counts[shard] = (counts[shard] ?? 0) + 1
  }
  return Array.from(counts.keys())
    .filter(shard => counts[shard] !== 0)
    .map(shard => write(() => recordsOfShard(records, { shard, shards }), version))
}

function countOf(records: SortedRecords): number {
  let count = 0
  for (const _ of records()) count++
  return count
}

function* recordsOfShard(
  records: SortedRecords,
  which: { shard: number; shards: number },
): Iterable<EntryRecord> {
  for (const record of records()) {
    if (shardOfRecord(record, which.shards) === which.shard) yield record
  }
}

function write(records: SortedRecords, version: 1 | 2): Uint8Array {
  return version === 1 ? writeIndexV1(records) : writeIndexV2(records)
}

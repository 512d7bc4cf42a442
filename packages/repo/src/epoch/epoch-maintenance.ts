import { type BlobId, blobId } from '../blob/storage.ts'
import { encryptBlob } from '../format/blob-crypto.ts'
import {
  epochMarkerBody,
  epochMarkerName,
  rangePrefix,
  setSuffix,
  singlePrefix,
  watermarkBody,
  watermarkName,
} from './epoch-blob-name.ts'
import {
  epochToCompact,
  markersToDelete,
  rangeToCheckpoint,
  shouldAdvanceEpoch,
  supersededIndexes,
} from './epoch-decisions.ts'
import type { EpochManager, EpochManagerOptions } from './epoch-manager.ts'
import { indexesOfEpochs } from './epoch-state.ts'
import { fetchAllIndexBlobs } from './fetch-index-blobs.ts'
import { forEachParallel } from './for-each-parallel.ts'

/** Merges index plaintexts into as few as possible, keeping deleted entries. */
export type MergeIndexes = (plaintexts: readonly Uint8Array[]) => readonly Uint8Array[]

/** What the maintenance of epochs works with. Each task decides on a new listing of its own. */
export interface EpochMaintenance extends EpochManagerOptions {
  manager: EpochManager
  merge: MergeIndexes
  randomBytes: (length: number) => Uint8Array
  signal?: AbortSignal | undefined
}

/** What a compaction did. */
export interface CompactedEpochs {
  first: number
  last: number
  inputs: number
  outputs: readonly BlobId[]
}

/** Begins the next epoch when the current one is old and full enough; returns its number. */
export async function advanceEpoch(context: EpochMaintenance): Promise<number | undefined> {
  const { manager, storage, parameters, signal } = context
  const state = await manager.refresh(signal)
  if (!shouldAdvanceEpoch(state, parameters)) return undefined
  const next = state.writeEpoch + 1
  await storage.put(blobId(epochMarkerName(next)), epochMarkerBody, { signal })
  await manager.refresh(signal)
  return next
}

/** Compacts the oldest settled epoch that is not compacted yet. */
export async function compactSingleEpoch(context: EpochMaintenance): Promise<CompactedEpochs | undefined> {
  const state = await context.manager.refresh(context.signal)
  const epoch = epochToCompact(state)
  if (epoch === undefined) return undefined
  const inputs = state.uncompacted.get(epoch) ?? []
  const outputs = await writeMerged(context, { inputs, prefix: singlePrefix(epoch) })
  return { first: epoch, last: epoch, inputs: inputs.length, outputs }
}

/** Writes a range checkpoint when enough epochs have settled since the last. */
export async function checkpointRange(context: EpochMaintenance): Promise<CompactedEpochs | undefined> {
  const state = await context.manager.refresh(context.signal)
  const range = rangeToCheckpoint(state, context.parameters)
  if (range === undefined) return undefined
  const inputs = indexesOfEpochs(state, range)
  if (inputs.length === 0) return undefined
  const outputs = await writeMerged(context, { inputs, prefix: rangePrefix(range) })
  return { ...range, inputs: inputs.length, outputs }
}

/** Hides deletions up to `seconds` of Unix time; false when the watermark is already later. */
export async function advanceDeletionWatermark(context: EpochMaintenance, seconds: number): Promise<boolean> {
  const { manager, storage, signal } = context
  const state = await manager.refresh(signal)
  if (seconds < state.deletionWatermark) return false
  await storage.put(blobId(watermarkName(seconds)), watermarkBody, { signal })
  await manager.refresh(signal)
  return true
}

/** Deletes markers that nobody needs; returns their names. */
export async function cleanUpMarkers(context: EpochMaintenance): Promise<BlobId[]> {
  const state = await context.manager.refresh(context.signal)
  return deleteBlobs(context, markersToDelete(state, context.parameters))
}

/** Deletes indexes that a compaction replaced long enough ago; returns their names. */
export async function cleanUpSuperseded(context: EpochMaintenance): Promise<BlobId[]> {
  const state = await context.manager.refresh(context.signal)
  return deleteBlobs(context, supersededIndexes(state, context.parameters))
}

async function writeMerged(
  context: EpochMaintenance,
  { inputs, prefix }: { inputs: readonly { id: BlobId }[]; prefix: string },
): Promise<BlobId[]> {
  const { storage, crypto, signal } = context
  const shards = context.merge(await fetchAllIndexBlobs(inputs, context))
  const setId = `s${Buffer.from(context.randomBytes(8)).toString('hex')}`
  const written: BlobId[] = []
  for (const shard of shards) {
    const blob = encryptBlob(shard, { prefix, suffix: setSuffix(setId, shards.length) }, crypto)
    await storage.put(blob.id, blob.bytes, { signal })
    written.push(blob.id)
  }
  await context.manager.refresh(signal)
  return written
}

async function deleteBlobs(context: EpochMaintenance, ids: readonly BlobId[]): Promise<BlobId[]> {
  const { storage, parameters, signal } = context
  await forEachParallel(ids, { limit: parameters.deleteParallelism, signal }, id =>
    storage.delete(id, { signal }),
  )
  if (ids.length > 0) await context.manager.refresh(signal)
  return [...ids]
}

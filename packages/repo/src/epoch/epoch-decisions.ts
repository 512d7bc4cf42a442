import type { BlobId, BlobMetadata } from '../blob/storage.ts'
import type { EpochParameters } from '../format/format-parameters.ts'
import { type EpochState, firstEpochAfterRanges, isSettled } from './epoch-state.ts'

/** True when the write epoch is old and full enough for the next one to begin; by the storage's own clock. */
export function shouldAdvanceEpoch(state: EpochState, parameters: EpochParameters): boolean {
  const blobs = state.uncompacted.get(state.writeEpoch) ?? []
  if (blobs.length === 0) return false
  const age =
    newest(blobs) -
    blobs.reduce((least, { timestamp }) => Math.min(least, timestamp), Number.POSITIVE_INFINITY)
  if (age < parameters.minEpochDuration) return false
  const size = blobs.reduce((sum, { length }) => sum + length, 0)
  return blobs.length >= parameters.advanceOnCount || size >= parameters.advanceOnTotalSize
}

/**
 * The oldest settled epoch whose indexes are not compacted yet, by a range or by itself; undefined when there is none.
 * An epoch without indexes has nothing to compact and is passed over.
 */
export function epochToCompact(state: EpochState): number | undefined {
  const first = firstEpochAfterRanges(state)
  return [...state.uncompacted.keys()]
    .filter(epoch => epoch >= first && isSettled(state, epoch) && !state.singles.has(epoch))
    .sort((a, b) => a - b)[0]
}

/** The epochs that the next range checkpoint should cover; undefined while there are too few. */
export function rangeToCheckpoint(
  state: EpochState,
  { fullCheckpointFrequency }: Pick<EpochParameters, 'fullCheckpointFrequency'>,
): { first: number; last: number } | undefined {
  const first = firstEpochAfterRanges(state)
  const last = state.writeEpoch - 2
  return last - first >= fullCheckpointFrequency ? { first, last } : undefined
}

/** Markers that nobody needs any more: old epochs', and watermarks that were replaced long enough ago. */
export function markersToDelete(state: EpochState, { cleanupSafetyMargin }: EpochParameters): BlobId[] {
  const now = storageNow(state)
  if (now === undefined) return []
  const epochs = state.epochMarkers.filter(({ number }) => number < state.writeEpoch - 1)
  const watermarks = state.watermarks.filter(
    ({ number, blob }) => number !== state.deletionWatermark && blob.timestamp < now - cleanupSafetyMargin,
  )
  return [...epochs, ...watermarks].map(({ blob }) => blob.id)
}

/** Indexes of epochs whose compaction has been visible for longer than any reader's view of the listing. */
export function supersededIndexes(state: EpochState, { cleanupSafetyMargin }: EpochParameters): BlobId[] {
  const now = storageNow(state)
  if (now === undefined) return []
  return [...state.uncompacted]
    .filter(([epoch]) => {
      const single = state.singles.get(epoch)
      return single !== undefined && isSettled(state, epoch) && newest(single) < now - cleanupSafetyMargin
    })
    .flatMap(([, blobs]) => blobs.map(({ id }) => id))
}

/** The storage's clock as its newest indexes show it; undefined when there are none around the write epoch. */
function storageNow({ writeEpoch, uncompacted }: EpochState): number | undefined {
  const blobs = [writeEpoch - 1, writeEpoch, writeEpoch + 1].flatMap(epoch => uncompacted.get(epoch) ?? [])
  return blobs.length === 0 ? undefined : newest(blobs)
}

function newest(blobs: readonly BlobMetadata[]): number {
  return blobs.reduce((most, { timestamp }) => Math.max(most, timestamp), Number.NEGATIVE_INFINITY)
}

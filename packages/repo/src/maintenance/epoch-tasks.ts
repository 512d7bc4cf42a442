import { randomBytes } from 'node:crypto'
import type { BlobMetadata } from '../blob/storage.ts'
import {
  epochToCompact,
  markersToDelete,
  rangeToCheckpoint,
  shouldAdvanceEpoch,
  supersededIndexes,
} from '../epoch/epoch-decisions.ts'
import {
  advanceDeletionWatermark,
  advanceEpoch,
  checkpointRange,
  cleanUpMarkers,
  cleanUpSuperseded,
  compactSingleEpoch,
  type EpochMaintenance,
} from '../epoch/epoch-maintenance.ts'
import { createEpochManager } from '../epoch/epoch-manager.ts'
import { type EpochState, indexesOfEpochs } from '../epoch/epoch-state.ts'
import { formatGoTime, goTimeFromMillis } from '../go-json/go-time.ts'
import { parseIndex } from '../index-format/pack-index.ts'
import { mergeIndexBlobs } from '../index-format/serialize-index.ts'
import { type Effect, sizeOf } from './effect.ts'
import type { RunExtra } from './schedule.ts'
import type { MaintenanceTask } from './task.ts'
import type { TaskContext } from './task-context.ts'

/** Tasks that touch index blobs and markers only. */
export type EpochTask = Extract<
  MaintenanceTask,
  | 'compact-single-epoch'
  | 'advance-epoch'
  | 'generate-epoch-range-index'
  | 'cleanup-epoch-markers'
  | 'delete-superseded-epoch-indexes'
>

/** What a task did or would do, for people and for the history. */
export interface EpochOutcome {
  effects: Effect[]
  extra: RunExtra[]
}

/**
 * Does one epoch task, or without a lease only tells what it would do. Indexes are merged as sorted streams: memory
 * holds their bytes, some 35 per content, and no object per content.
 */
export async function runEpochTask(task: EpochTask, context: TaskContext): Promise<EpochOutcome> {
  const epochs = epochMaintenanceOf(context)
  const state = await epochs.manager.refresh(context.signal)
  const outcome = epochOutcome(task, state, epochs)
  if (context.lease !== undefined && outcome.effects.length > 0) await act[task](epochs)
  return outcome
}

/** Hides contents that were marked deleted up to `seconds` of Unix time from everybody. */
export async function moveWatermark(context: TaskContext, seconds: number): Promise<void> {
  await advanceDeletionWatermark(epochMaintenanceOf(context), seconds)
}

const act: Record<EpochTask, (epochs: EpochMaintenance) => Promise<unknown>> = {
  'compact-single-epoch': compactSingleEpoch,
  'advance-epoch': advanceEpoch,
  'generate-epoch-range-index': checkpointRange,
  'cleanup-epoch-markers': cleanUpMarkers,
  'delete-superseded-epoch-indexes': cleanUpSuperseded,
}

function epochMaintenanceOf({ repository, signal }: TaskContext): EpochMaintenance {
  const { storage, crypto, clock, format } = repository
  const options = { storage, crypto, clock, parameters: format.format.epochParameters }
  const encryptionOverhead = crypto.encryption.overhead
  return {
    ...options,
    manager: createEpochManager(options),
    merge: plaintexts =>
      mergeIndexBlobs(
        plaintexts.map(plaintext => parseIndex(plaintext, { encryptionOverhead })),
        { version: 2 },
      ),
    randomBytes,
    signal,
  }
}

/** What a task is going to do in this state; no effect means nothing. */
export function epochOutcome(
  task: EpochTask,
  state: EpochState,
  { parameters }: Pick<EpochMaintenance, 'parameters'>,
): EpochOutcome {
  switch (task) {
    case 'compact-single-epoch':
      return compactionOutcome(state)
    case 'advance-epoch':
      return advanceOutcome(state, shouldAdvanceEpoch(state, parameters))
    case 'generate-epoch-range-index':
      return rangeOutcome(state, rangeToCheckpoint(state, parameters))
    case 'cleanup-epoch-markers':
      return markersOutcome(state, new Set<string>(markersToDelete(state, parameters)))
    case 'delete-superseded-epoch-indexes':
      return supersededOutcome(state, new Set<string>(supersededIndexes(state, parameters)))
  }
}

function compactionOutcome(state: EpochState): EpochOutcome {
  const epoch = epochToCompact(state)
  if (epoch === undefined) return nothing
  const inputs = state.uncompacted.get(epoch) ?? []
  const { count, bytes } = sizeOf(inputs)
  return {
    effects: [rewriting(inputs, `epoch ${epoch} has settled`)],
    extra: [
      {
        kind: 'compactSingleEpochStats',
        data: { supersededIndexBlobCount: count, supersededIndexTotalSize: bytes, epoch },
      },
    ],
  }
}

function advanceOutcome({ writeEpoch }: EpochState, advances: boolean): EpochOutcome {
  const currentEpoch = advances ? writeEpoch + 1 : writeEpoch
  const why = `epoch ${writeEpoch} is old and has many index blobs`
  const marker: Effect = { verb: 'write', what: 'marker-blobs', count: 1, bytes: 0, why }
  return {
    effects: advances ? [{ ...marker, blobs: [`xe${currentEpoch}`] }] : [],
    extra: [{ kind: 'advanceEpochStats', data: { currentEpoch, wasAdvanced: advances } }],
  }
}

function rangeOutcome(state: EpochState, range: { first: number; last: number } | undefined): EpochOutcome {
  if (range === undefined) return nothing
  const { first, last } = range
  return {
    effects: [rewriting(indexesOfEpochs(state, range), `epochs ${first} to ${last} have settled`)],
    extra: [{ kind: 'generateRangeCheckpointStats', data: { rangeMinEpoch: first, rangeMaxEpoch: last } }],
  }
}

function markersOutcome(state: EpochState, ids: ReadonlySet<string>): EpochOutcome {
  const epochs = state.epochMarkers.map(({ blob }) => blob).filter(({ id }) => ids.has(id))
  const watermarks = state.watermarks.map(({ blob }) => blob).filter(({ id }) => ids.has(id))
  return {
    effects: deleting('marker-blobs', [...epochs, ...watermarks], 'newer ones replaced them'),
    extra: [
      {
        kind: 'cleanupMarkersStats',
        data: { deletedEpochMarkerBlobCount: epochs.length, deletedWatermarkBlobCount: watermarks.length },
      },
    ],
  }
}

function supersededOutcome(state: EpochState, ids: ReadonlySet<string>): EpochOutcome {
  const replaced = [...state.uncompacted].filter(([, blobs]) => blobs.some(({ id }) => ids.has(id)))
  const blobs = replaced.flatMap(([, list]) => list.filter(({ id }) => ids.has(id)))
  if (blobs.length === 0) return nothing
  const newest = Math.max(
    ...replaced.flatMap(([epoch]) => (state.singles.get(epoch) ?? []).map(({ timestamp }) => timestamp)),
  )
  const { count, bytes } = sizeOf(blobs)
  const maxReplacementTime = formatGoTime(goTimeFromMillis(newest))
  return {
    effects: deleting('index-blobs', blobs, 'compacted ones replaced them long enough ago'),
    extra: [
      {
        kind: 'cleanupSupersededIndexesStats',
        data: { maxReplacementTime, deletedBlobCount: count, deletedTotalSize: bytes },
      },
    ],
  }
}

const nothing: EpochOutcome = { effects: [], extra: [] }

function rewriting(blobs: readonly BlobMetadata[], why: string): Effect {
  return { verb: 'rewrite', what: 'index-blobs', ...sizeOf(blobs), why, blobs: blobs.map(({ id }) => id) }
}

function deleting(what: Effect['what'], blobs: readonly BlobMetadata[], why: string): Effect[] {
  if (blobs.length === 0) return []
  return [{ verb: 'delete', what, ...sizeOf(blobs), why, blobs: blobs.map(({ id }) => id) }]
}

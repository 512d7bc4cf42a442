import { goDurationOf } from '@lateen/api'
import type { OperationProgress } from '@lateen/plugin'
import type { VolumeSnapshot, VolumeSnapshotContent } from './snapshot-kinds.ts'

/** A snapshot as it was seen. */
export interface SeenSnapshot {
  /** Undefined when it is not there any more. */
  snapshot: VolumeSnapshot | undefined
  /** Undefined when it is not bound yet, or its content is not there any more. */
  content: VolumeSnapshotContent | undefined
}

export interface SnapshotPatience {
  /** Milliseconds since 1970. */
  began: number
  now: number
  /** How long a driver may take until it tells the handle of the snapshot. */
  handleTimeoutMs: number
}

const nothingYet: OperationProgress = {
  ...{ completed: false, error: '', nCompleted: 0, nTotal: 0 },
  ...{ operationUnits: '', description: '' },
}

/**
 * How far a snapshot has come. What a driver says went wrong counts only when its time is over: the snapshot controller tries again. A
 * snapshot that is gone, or whose content is gone, has failed.
 */
export function snapshotProgress(
  { snapshot, content }: SeenSnapshot,
  { began, now, handleTimeoutMs }: SnapshotPatience,
): OperationProgress {
  const failed = (error: string) => ({ ...nothingYet, completed: true, error, started: began, updated: now })
  if (snapshot === undefined || snapshot.metadata.deletionTimestamp !== undefined) {
    return failed('the VolumeSnapshot was deleted before the snapshot was ready')
  }
  const bound = snapshot.status?.boundVolumeSnapshotContentName
  if (bound && (content === undefined || content.metadata.deletionTimestamp !== undefined)) {
    return failed(`the VolumeSnapshotContent ${bound} was deleted before the snapshot was ready`)
  }
  if (snapshot.status?.readyToUse === true && content?.status?.readyToUse === true) {
    return { ...nothingYet, completed: true, started: began, updated: now }
  }
  const fault = faultOf({ snapshot, content })
  if (!content?.status?.snapshotHandle && now >= began + handleTimeoutMs) {
    const within = `the driver has not told a handle for the snapshot within ${goDurationOf(handleTimeoutMs)}`
    return failed(fault === '' ? within : `${within}; it says: ${fault}`)
  }
  return { ...nothingYet, description: fault, started: began }
}

/** What the driver last said went wrong; empty when nothing did. */
export function faultOf({ snapshot, content }: SeenSnapshot): string {
  return content?.status?.error?.message ?? snapshot?.status?.error?.message ?? ''
}

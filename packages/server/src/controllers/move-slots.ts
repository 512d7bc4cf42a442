import { type DataMovePhase, isTerminal, labelNames, PodVolumeBackupKind, parseTime } from '@lateen/api'
import type { KubeObject } from '@lateen/kube'

/** How many movers a node and the cluster have room for, all sorts of work together. */
export interface MoveSlots {
  canStart(): boolean
  canPrepare(): boolean
  /** Counts one as moving until it is disposed of, from before that is written until it can be seen. */
  starting(): Disposable
  /** Counts one as being prepared, in the same way. */
  preparing(): Disposable
}

/** What is counted: objects of any sort of work that movers do. */
export interface Countable extends KubeObject {
  spec: object
  status?: {
    phase?: DataMovePhase | ''
    acceptedTimestamp?: string | null
    node?: string
    acceptedByNode?: string
  }
}

export interface SlotLimits {
  readonly node: string
  /** How many may move data at a time on the node. */
  readonly most: number
  /** How many pods may be on their way at a time in the cluster; any number when absent or 0. */
  readonly mostPreparing?: number | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Pods that wait for their turn cost a node memory and the start of a process; a few suffice to have the next one ready in time. */
const LEAST_AHEAD = 2

/** By then, the pod of a mover runs, as a rule. */
const SOON_MS = 30_000

/** Counts the objects of all sorts of work, as they are at the moment of each question. */
export function moveSlots(
  sorts: readonly { list(): readonly Countable[] }[],
  { node, most, mostPreparing = 0, now }: SlotLimits,
): MoveSlots {
  const count = (counts: (object: Countable) => boolean) =>
    sorts.reduce((sum, sort) => sum + sort.list().filter(counts).length, 0)
  const ahead = Math.max(LEAST_AHEAD, most)
  const coming = { starting: 0, preparing: 0 }
  const counted = (which: keyof typeof coming): Disposable => {
    coming[which] += 1
    return {
      [Symbol.dispose]() {
        coming[which] -= 1
      },
    }
  }
  return {
    canStart: () => count(object => isMoving(object) && nodeOf(object) === node) + coming.starting < most,
    canPrepare: () =>
      count(object => isNextToMove(object, now()) && nodeOf(object) === node) + coming.preparing < ahead &&
      (mostPreparing === 0 || count(isPreparing) + coming.preparing < mostPreparing),
    starting: () => counted('starting'),
    preparing: () => counted('preparing'),
  }
}

/** Whether a mover of this object moves data now, or is about to stop. */
export function isMoving({ status }: Countable): boolean {
  return status?.phase === 'InProgress' || status?.phase === 'Canceling'
}

/** Whether there may be more room after this: something is over or gone, or has begun and is no longer being prepared. */
export function freesRoom({ type, object }: { type: string; object: Countable }): boolean {
  return type === 'deleted' || isMoving(object) || isTerminal(PodVolumeBackupKind, object.status?.phase)
}

/** Whether its pod is about to run, or runs and waits for a slot. One that does not come up for long is in nobody's way. */
function isNextToMove({ status }: Countable, now: number): boolean {
  if (status?.phase !== 'Accepted') return status?.phase === 'Prepared'
  const { acceptedTimestamp } = status
  return !acceptedTimestamp || now - parseTime(acceptedTimestamp) < SOON_MS
}

function isPreparing({ metadata }: Countable): boolean {
  return metadata.labels?.[labelNames.exposeOnGoing] === 'true'
}

/** Backups of pod volumes are made for a node, everything else says which one took it, and before that perhaps which one prepares it. */
function nodeOf({ spec, status }: Countable): unknown {
  if ('node' in spec) return spec.node
  return status?.node || status?.acceptedByNode
}

import { canMove, type DataMovePhase, isTerminal, PodVolumeBackupKind } from '@lateen/api'
import { canceledWords } from './mover-message.ts'
import type { MoverState } from './mover-state.ts'

/** What was observed of one piece of work: an object such as a PodVolumeBackup and the pod that does it. */
export interface MoveFacts {
  readonly phase: DataMovePhase
  readonly cancel: boolean
  readonly isDeleted: boolean
  readonly isHeld: boolean
  /** Whether this node agent is the one to do it. */
  readonly isOurs: boolean
  /** Whether no node agent will ever be the one, as things stand: a restore whose pod is on no node. */
  readonly isNobodys: boolean
  /** For restores: whether the pod waits for its volume. Backups are always ready. */
  readonly isReady: boolean
  /** Whether the mover is on the node of this node agent, which alone can go on with it. */
  readonly isHere: boolean
  readonly mover: MoverState
  readonly acceptedAt: number | undefined
  /** When the wish to cancel was first seen by this node agent. */
  readonly cancelSeenAt: number | undefined
  /** Whether the node has a slot free for another mover, and the cluster for another pod that is prepared. */
  readonly canStart: boolean
  readonly canPrepare: boolean
  readonly prepareTimeoutMs: number
  readonly now: number
}

/** The next thing to do. */
export type MoveStep =
  | { readonly type: 'ignore' }
  | { readonly type: 'wait'; readonly afterMs: number }
  /** Keep the object until what was made for it is gone. */
  | { readonly type: 'hold' }
  | { readonly type: 'accept' }
  | { readonly type: 'expose' }
  | { readonly type: 'prepared' }
  | { readonly type: 'start' }
  /** Follow what the mover says, and pass a wish to cancel on. */
  | { readonly type: 'follow' }
  | { readonly type: 'canceling' }
  | { readonly type: 'complete'; readonly lastWords: string }
  | { readonly type: 'fail'; readonly message: string; readonly diagnose?: true }
  | { readonly type: 'cancel'; readonly message?: string }
  /** Say in the object that it is to be cancelled: somebody deletes it. */
  | { readonly type: 'wantCancel' }
  /** Its work is over: remove the pod, then let the object go. */
  | { readonly type: 'cleanUp' }

/** How long a mover may take to hear that it is cancelled, when it moves data and before. */
const CANCEL_PATIENCE_MS = { moving: 3_600_000, before: 300_000 } as const

/** Slots become free by events, but limits are shared with others that this node does not see. */
const SLOT_WAIT_MS = 5_000

const LOOK_AGAIN_MS = 60_000

export function decideMove(facts: MoveFacts): MoveStep {
  const { phase, isHeld, isOurs, isDeleted, cancel } = facts
  if (isTerminal(PodVolumeBackupKind, phase)) return decideOver(facts)
  if (cancelIsOverdue(facts))
    return { type: 'cancel', message: 'it was cancelled, and nothing was heard of its mover' }
  if (!isOurs) return decideOthers(facts)
  if (!isHeld) return isDeleted ? { type: 'ignore' } : { type: 'hold' }
  if (isDeleted && !cancel) return { type: 'wantCancel' }
  switch (phase) {
    case 'New':
      return decideNew(facts)
    case 'Accepted':
      return decideAccepted(facts)
    case 'Prepared':
      return decidePrepared(facts)
    default:
      return decideMoving(facts)
  }
}

function decideOver({ isHeld, isOurs, isDeleted, mover }: MoveFacts): MoveStep {
  const isOver = mover.type === 'absent' && !isHeld
  return isOver || !(isOurs || isDeleted) ? { type: 'ignore' } : { type: 'cleanUp' }
}

function decideOthers({ phase, cancel, isNobodys }: MoveFacts): MoveStep {
  if (!cancel) return { type: 'ignore' }
  return isNobodys && phase === 'New' ? { type: 'cancel' } : { type: 'wait', afterMs: LOOK_AGAIN_MS }
}

function decideNew({ cancel, isReady, canPrepare }: MoveFacts): MoveStep {
  if (cancel) return { type: 'cancel' }
  if (!isReady) return { type: 'ignore' }
  return canPrepare ? { type: 'accept' } : { type: 'wait', afterMs: SLOT_WAIT_MS }
}

function decideAccepted(facts: MoveFacts): MoveStep {
  const { cancel, isHere, mover, acceptedAt, prepareTimeoutMs, now } = facts
  if (cancel) return { type: 'cancel' }
  const leftMs = (acceptedAt ?? now) + prepareTimeoutMs - now
  switch (mover.type) {
    case 'running':
      if (isHere) return { type: 'prepared' }
      return leftMs > 0
        ? { type: 'wait', afterMs: Math.min(LOOK_AGAIN_MS, leftMs) }
        : {
            type: 'fail',
            message: 'timeout on preparing: no node agent goes on with it where its mover runs',
          }
    case 'broken':
      return { type: 'fail', message: `the mover cannot run: ${mover.reason}`, diagnose: true }
    case 'ended':
      return { type: 'fail', message: `the mover ended before it began: ${mover.lastWords}` }
    default:
      if (leftMs <= 0) return { type: 'fail', message: 'timeout on preparing', diagnose: true }
      return mover.type === 'absent'
        ? { type: 'expose' }
        : { type: 'wait', afterMs: Math.min(LOOK_AGAIN_MS, leftMs) }
  }
}

function decidePrepared({ cancel, mover, canStart }: MoveFacts): MoveStep {
  if (cancel) return { type: 'cancel' }
  switch (mover.type) {
    case 'running':
      return canStart ? { type: 'start' } : { type: 'wait', afterMs: SLOT_WAIT_MS }
    case 'absent':
      return { type: 'fail', message: 'the pod of the mover is gone' }
    case 'ended':
      return { type: 'fail', message: `the mover ended before it began: ${mover.lastWords}` }
    case 'broken':
      return { type: 'fail', message: `the mover cannot run: ${mover.reason}`, diagnose: true }
    case 'coming':
      return { type: 'wait', afterMs: SLOT_WAIT_MS }
  }
}

function decideMoving({ phase, cancel, mover }: MoveFacts): MoveStep {
  switch (mover.type) {
    case 'ended':
      if (mover.well) return { type: 'complete', lastWords: mover.lastWords }
      if (mover.lastWords === canceledWords) return { type: 'cancel' }
      return { type: 'fail', message: mover.lastWords }
    case 'absent':
      if (cancel || phase === 'Canceling') return { type: 'cancel' }
      return { type: 'fail', message: 'the pod of the mover is gone' }
    case 'broken':
      return { type: 'fail', message: `the mover cannot be reached: ${mover.reason}`, diagnose: true }
    default:
      if (cancel && phase === 'InProgress') return { type: 'canceling' }
      return { type: 'follow' }
  }
}

function cancelIsOverdue({ phase, cancel, cancelSeenAt, now }: MoveFacts): boolean {
  if (!cancel || cancelSeenAt === undefined) return false
  const isMoving = phase === 'InProgress' || phase === 'Canceling'
  return now - cancelSeenAt > (isMoving ? CANCEL_PATIENCE_MS.moving : CANCEL_PATIENCE_MS.before)
}

/** The phase that a step leads to; undefined where it leads to none. */
export function phaseAfter(step: MoveStep, from: DataMovePhase): DataMovePhase | undefined {
  const phases: Partial<Record<MoveStep['type'], DataMovePhase>> = {
    accept: 'Accepted',
    prepared: 'Prepared',
    start: 'InProgress',
    canceling: 'Canceling',
    complete: 'Completed',
    fail: 'Failed',
    cancel: 'Canceled',
  }
  const to = phases[step.type]
  return to !== undefined && canMove(PodVolumeBackupKind, from, to) ? to : undefined
}

import { type DataMovePhase, isTerminal, PodVolumeRestoreKind } from '@lateen/api'

/** What was observed of a restore from restic's format that this process is not working on. */
export interface LegacyRestoreFacts {
  readonly phase: DataMovePhase
  readonly cancel: boolean
  /** When the wish to cancel was first seen by this node agent. */
  readonly cancelSeenAt: number | undefined
  /** Whether this node agent is the one to do it. */
  readonly isOurs: boolean
  /** Whether the pod waits for its volume. */
  readonly isReady: boolean
  /** Whether the node has a slot free. */
  readonly canStart: boolean
  readonly now: number
}

/** The next thing to do. */
export type LegacyRestoreStep =
  | { readonly type: 'ignore' }
  | { readonly type: 'wait'; readonly afterMs: number }
  | { readonly type: 'start' }
  | { readonly type: 'cancel' }
  /** Whoever worked on it is gone, and has left half a volume behind. */
  | { readonly type: 'fail' }

/** Slots become free by events, but not all who take them are seen. */
const SLOT_WAIT_MS = 5_000

const LOOK_AGAIN_MS = 60_000

/** How long another node agent may take to stop. */
const CANCEL_PATIENCE_MS = 3_600_000

/** One that has begun ends with the node agent that began it: a new one finds it in a phase that nobody moves on. */
export function decideLegacyRestore(facts: LegacyRestoreFacts): LegacyRestoreStep {
  const { phase, cancel, isOurs, isReady, canStart } = facts
  if (isTerminal(PodVolumeRestoreKind, phase)) return { type: 'ignore' }
  if (phase === 'New') {
    if (cancel) return { type: 'cancel' }
    if (!isOurs || !isReady) return { type: 'ignore' }
    return canStart ? { type: 'start' } : { type: 'wait', afterMs: SLOT_WAIT_MS }
  }
  if (isOurs) return { type: cancel ? 'cancel' : 'fail' }
  if (!cancel) return { type: 'ignore' }
  return isOverdue(facts) ? { type: 'cancel' } : { type: 'wait', afterMs: LOOK_AGAIN_MS }
}

function isOverdue({ cancelSeenAt, now }: LegacyRestoreFacts): boolean {
  return cancelSeenAt !== undefined && now - cancelSeenAt > CANCEL_PATIENCE_MS
}

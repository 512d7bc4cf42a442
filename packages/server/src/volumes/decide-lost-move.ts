import { type DataMovePhase, isTerminal, PodVolumeBackupKind } from '@lateen/api'

/** What an object such as a PodVolumeBackup needs and does not find. */
export type Missing =
  | { readonly what: 'node'; readonly name: string }
  /** Into whose volume data was to be restored, before any node agent took that up. */
  | { readonly what: 'pod'; readonly name: string }
  /** On its node, or on any where it has none. */
  | { readonly what: 'node agent'; readonly name: string }

/** What was observed of one that may have nobody who looks after it. */
export interface LostFacts {
  readonly phase: DataMovePhase
  readonly cancel: boolean
  /** Whether a node agent keeps it until its mover is gone. */
  readonly isHeld: boolean
  /** Whether there may be more of it than what goes with the node, so that somebody has to remove that. */
  readonly mustBeCleaned: boolean
  readonly missing: Missing | undefined
  /** How long that has been so. */
  readonly forMs: number
}

/** What the server does for it, in place of a node agent. */
export type LostStep =
  | { readonly type: 'leave' }
  | { readonly type: 'fail'; readonly message: string }
  | { readonly type: 'cancel'; readonly message: string }
  /** Nobody will remove what a node agent holds it for: its mover went with the node, or never was. */
  | { readonly type: 'release' }

/** A look may be at the wrong moment; and a node agent that is replaced comes back. */
const PATIENCE_MS = { gone: 20_000, agent: 300_000 } as const

/** Decides about work that no node agent will end. */
export function decideLostMove(facts: LostFacts): LostStep {
  const { phase, cancel, isHeld, mustBeCleaned, missing, forMs } = facts
  if (missing === undefined) return { type: 'leave' }
  if (missing.what === 'node agent') {
    if (forMs < PATIENCE_MS.agent) return { type: 'leave' }
    if (isTerminal(PodVolumeBackupKind, phase)) return { type: mustBeCleaned ? 'release' : 'leave' }
    if (!cancel) return { type: 'leave' }
    return { type: 'cancel', message: `it was cancelled, and there is no node agent on ${missing.name}` }
  }
  if (forMs < PATIENCE_MS.gone) return { type: 'leave' }
  if (!isTerminal(PodVolumeBackupKind, phase))
    return { type: 'fail', message: `the ${missing.what} ${missing.name} is gone` }
  return { type: isHeld ? 'release' : 'leave' }
}

/** One step an object may take from a phase to another. */
export interface PhaseMove<P extends string = string> {
  /** Empty only for kinds without a `New` phase. */
  readonly from: P | ''
  readonly to: P
  /** The controller that writes the phase. */
  readonly by: PhaseDriver
  readonly when: string
}

/** The phases of a kind and the moves between them. */
export interface PhaseMachine<P extends string = string> {
  /** In the order the schema lists them. */
  readonly phases: readonly P[]
  /** Where the work of the object is over. */
  readonly terminal: readonly P[]
  readonly moves: readonly PhaseMove<P>[]
}

/** The controllers that write phases, by Velero's names. */
export type PhaseDriver =
  | 'backup-queue'
  | 'backup'
  | 'backup-operations'
  | 'backup-finalizer'
  | 'backup-deletion'
  | 'restore'
  | 'restore-operations'
  | 'restore-finalizer'
  | 'schedule'
  | 'backup-storage-location'
  | 'backup-repository'
  | 'download-request'
  | 'server-status-request'
  | 'node-agent'

/** Something that has phases: a machine, or the description of a kind. */
export type Phased<P extends string> = PhaseMachine<P> | { readonly phases?: PhaseMachine<P> }

/**
 * Whether an object may go from one phase to another. A missing or empty phase is `New` for kinds that have it.
 * Staying in a phase is not a move.
 */
export function canMove<P extends string>(of: Phased<P>, from: P | '' | undefined, to: P): boolean {
  const machine = machineOf(of)
  if (!machine) return false
  const start = phaseOrStart(machine, from)
  return machine.moves.some(move => move.from === start && move.to === to)
}

/** The phases where the work of an object is over. */
export function terminalPhases<P extends string>(of: Phased<P>): readonly P[] {
  return machineOf(of)?.terminal ?? []
}

/** Whether the work of an object in this phase is over. */
export function isTerminal<P extends string>(of: Phased<P>, phase: P | '' | undefined): boolean {
  return terminalPhases(of).some(terminal => terminal === phase)
}

/** The phase, with a missing or empty one read as `New` for kinds that have it. */
export function phaseOrStart<P extends string>(of: Phased<P>, phase: P | '' | undefined): P | '' {
  if (phase) return phase
  return machineOf(of)?.phases.find(known => known === 'New') ?? ''
}

function machineOf<P extends string>(of: Phased<P>): PhaseMachine<P> | undefined {
  return 'moves' in of ? of : of.phases
}

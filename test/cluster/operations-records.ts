/** The name that the action of operations-plugin.ts is registered with. */
export const actionName = 'operations.test/copy'

/** ConfigMaps with this label have an operation. */
export const label = 'operations.test/copied'

/** Annotations that say what the action is to do. */
export const wishes = {
  behaviour: 'operations.test/behaviour',
  /** The name of a Secret that it wants stored with the item when the backup is finalized. */
  additional: 'operations.test/additional',
  /** Set by the action when the item is stored again: the phase of the backup. */
  finalized: 'operations.test/finalized',
} as const

/** What an operation does without being told: `wait` and `cancel-error` go on for ever. */
export type Behaviour =
  | 'wait'
  | 'complete'
  /** Completes a second after it began. */
  | 'brief'
  | 'fail'
  | 'progress-error'
  | 'cancel-error'
  /** Takes its program with it whenever it is asked about, until the test says how it stands. */
  | 'crash'
  /** Returns another operation when the backup is finalized. */
  | 'begin-too-late'
  /** Begins nothing, and does not return before the test lets go of the backup. */
  | 'hold'
  /** Completes, and does not return when the backup is finalized before the test lets go of it. */
  | 'hold-finalizing'

/** What the plugin notes of an operation. */
export interface BegunRecord {
  id: string
  backup: string
  item: string
  wish: string
  begun: number
}

/** How a test says an operation stands. */
export interface OperationState {
  completed?: boolean
  error?: string
  nCompleted?: number
}

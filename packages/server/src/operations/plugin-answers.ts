import type { Backup, Restore } from '@lateen/api'
import { type Clock, isRetryable, type Logger } from '@lateen/kube'
import {
  asyncOperationsNotSupported,
  isPluginError,
  type OperationProgress,
  type VolumeSnapshotter,
} from '@lateen/plugin'
import type { PluginSession } from '../plugin-host/plugin-session.ts'
import type { Answer } from './after-asking.ts'
import type { BackupOperation } from './backup-operation.ts'
import type { ItemOperation, OperationPorts } from './poll-operations.ts'
import type { RestoreOperation } from './restore-operation.ts'

/** What questions about operations go through. */
export interface AnswerPorts {
  plugins: Pick<PluginSession, 'backupItemAction' | 'restoreItemAction'>
  clock: Clock
  log: Logger
}

/**
 * Opens the snapshotter of a location, ready for use; the same one each time. Throws PluginError, KubeErrors, or other errors that
 * say what is wrong with the location.
 */
export type OpenSnapshotter = (location: string, signal: AbortSignal) => Promise<VolumeSnapshotter>

/** Operations whose actions are asked in this way. */
interface Asked {
  progress(signal: AbortSignal): Promise<OperationProgress>
  cancel(signal: AbortSignal): Promise<void>
}

/** An action that says nothing for so long is not there. */
const PATIENCE_MS = 60_000

const complete: OperationProgress = {
  completed: true,
  error: '',
  nCompleted: 0,
  nTotal: 0,
  operationUnits: '',
  description: '',
}

/** Asks the actions and snapshotters that began the operations of a backup. */
export function backupOperationPorts(
  backup: Backup,
  ports: AnswerPorts & { openSnapshotter: OpenSnapshotter },
): OperationPorts<BackupOperation> {
  const whom = ({ spec }: BackupOperation) => spec.volumeSnapshotLocation ?? spec.backupItemAction
  const find = async ({ spec }: BackupOperation, signal: AbortSignal): Promise<Asked> => {
    const { operationID: operationId, backupItemAction, volumeSnapshotLocation } = spec
    if (volumeSnapshotLocation !== undefined) {
      return snapshotOf(await ports.openSnapshotter(volumeSnapshotLocation, signal), operationId)
    }
    const action = ports.plugins.backupItemAction(backupItemAction)
    return {
      async progress(signal) {
        if (action.progress === undefined) throw asyncOperationsNotSupported()
        return action.progress({ operationId, backup, signal })
      },
      cancel: async signal => action.cancel?.({ operationId, backup, signal }),
    }
  }
  return portsOf(ports, { whom, find })
}

/** Asks the actions that began the operations of a restore. */
export function restoreOperationPorts(
  restore: Restore,
  ports: AnswerPorts,
): OperationPorts<RestoreOperation> {
  const whom = ({ spec }: RestoreOperation) => spec.restoreItemAction
  const find = async ({ spec }: RestoreOperation): Promise<Asked> => {
    const { operationID: operationId, restoreItemAction } = spec
    const action = ports.plugins.restoreItemAction(restoreItemAction)
    return {
      async progress(signal) {
        if (action.progress === undefined) throw asyncOperationsNotSupported()
        return action.progress({ operationId, restore, signal })
      },
      cancel: async signal => action.cancel?.({ operationId, restore, signal }),
    }
  }
  return portsOf(ports, { whom, find })
}

/** Snapshotters that were made before they could be asked have uploaded everything when they return. */
function snapshotOf(snapshotter: VolumeSnapshotter, snapshotId: string): Asked {
  return {
    async progress(signal) {
      if (snapshotter.progress === undefined) return complete
      try {
        return await snapshotter.progress({ snapshotId, signal })
      } catch (error) {
        if (isPluginError(error, 'UNIMPLEMENTED')) return complete
        throw error
      }
    },
    async cancel(signal) {
      try {
        await snapshotter.cancel?.({ snapshotId, signal })
      } catch (error) {
        if (!isPluginError(error, 'UNIMPLEMENTED')) throw error
      }
    },
  }
}

/** Who is asked about an operation. */
interface Asking<Operation> {
  /** The name of the action, or of the location. */
  whom(operation: Operation): string
  find(operation: Operation, signal: AbortSignal): Promise<Asked>
}

function portsOf<Operation extends ItemOperation>(
  { clock, log }: AnswerPorts,
  { whom, find }: Asking<Operation>,
): OperationPorts<Operation> {
  // Thousands of operations of one that says nothing would otherwise take a minute each. One that does not say how far it is may
  // still listen when it is told to stop.
  const [asked, told] = [new SilentActions(), new SilentActions()]
  const untold = new UntoldActions(log)
  return {
    async ask(operation, signal) {
      const action = whom(operation)
      if (asked.has(action)) return answerOf(asked.errorOf(action))
      try {
        const progress = await asked.listening(action, () =>
          within(clock, signal, async abort => (await find(operation, abort)).progress(abort)),
        )
        return { type: 'progress', progress }
      } catch (error) {
        signal.throwIfAborted()
        return answerOf(error)
      }
    },
    async cancel(operation, signal) {
      const action = whom(operation)
      if (told.has(action)) {
        untold.add(action, told.errorOf(action))
        return 'unreachable'
      }
      try {
        await told.listening(action, () =>
          within(clock, signal, async abort => (await find(operation, abort)).cancel(abort)),
        )
        return 'told'
      } catch (error) {
        signal.throwIfAborted()
        const fields = { error, operation: operation.spec.operationID }
        if (answerOf(error).type === 'unreachable') {
          log.debug(fields, 'an operation could not be cancelled')
          untold.add(action, error)
          return 'unreachable'
        }
        log.warn(fields, 'an operation could not be cancelled')
        return 'refused'
      }
    },
    reportUntold: () => untold.report(),
    now: () => clock.now(),
  }
}

/** So often an action is waited for in vain, whatever else it answers: each time takes a minute of whoever asks. */
const mostSilences = 32

/**
 * The actions that were waited for in vain while they answered nobody, or too often. One that takes one call after the other is only slow: it
 * may answer some of those that were made at once too late.
 */
class SilentActions {
  readonly #errors = new Map<string, unknown>()
  /** How many calls of an action have ended in anything but silence. */
  readonly #heard = new Map<string, number>()
  readonly #silences = new Map<string, number>()

  has(action: string): boolean {
    return this.#errors.has(action)
  }

  /** What came of waiting for it. */
  errorOf(action: string): unknown {
    return this.#errors.get(action)
  }

  /** Calls an action, and notes whether anything is heard from it. Throws what the call throws. */
  async listening<T>(action: string, call: () => Promise<T>): Promise<T> {
    const before = this.#count(action)
    try {
      const answer = await call()
      this.#heard.set(action, this.#count(action) + 1)
      return answer
    } catch (error) {
      if (!saidNothing(error)) this.#heard.set(action, this.#count(action) + 1)
      else {
        const silences = (this.#silences.get(action) ?? 0) + 1
        this.#silences.set(action, silences)
        if (this.#count(action) === before || silences >= mostSilences) this.#errors.set(action, error)
      }
      throw error
    }
  }

  #count(action: string): number {
    return this.#heard.get(action) ?? 0
  }
}

/** The actions that could not be told to stop operations. */
class UntoldActions {
  readonly #log: Logger
  readonly #counts = new Map<string, { operations: number; error: unknown }>()

  constructor(log: Logger) {
    this.#log = log
  }

  add(action: string, error: unknown): void {
    const { operations } = this.#counts.get(action) ?? { operations: 0 }
    this.#counts.set(action, { operations: operations + 1, error })
  }

  report(): void {
    for (const [action, counted] of this.#counts) {
      this.#log.warn(
        { action, ...counted },
        'an action could not be told to stop operations: it does not answer',
      )
    }
    this.#counts.clear()
  }
}

/** Whether the time for an answer passed here; a plugin that says that something took it too long has answered. */
function saidNothing(error: unknown): boolean {
  return error instanceof NoAnswer || isPluginError(error, 'TIMEOUT')
}

/** What a failed question says about the operation. */
export function answerOf(error: unknown): Answer {
  const reason = error instanceof Error ? error.message : String(error)
  const isOnTheWay =
    error instanceof NoAnswer || isRetryable(error) || (isPluginError(error) && error.transport)
  return { type: isOnTheWay ? 'unreachable' : 'refused', reason }
}

class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  readonly code = 'NO_ANSWER'
}

/** Throws NoAnswer when it takes too long, also if it does not listen to its signal. */
async function within<T>(
  clock: Clock,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const patience = clock.sleep(PATIENCE_MS, either).then(() => {
    throw new NoAnswer(`there was no answer within ${PATIENCE_MS / 1000} seconds`)
  })
  try {
    return await Promise.race([call(either), patience])
  } finally {
    over.abort()
    patience.catch(() => undefined)
  }
}

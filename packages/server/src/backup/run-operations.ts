import { type Backup, type BackupStatus, durationMilliseconds } from '@lateen/api'
import type { Clock, Logger } from '@lateen/kube'
import { PluginError } from '@lateen/plugin'
import type { BackupStore } from '../backup-store/backup-store.ts'
import { groupResource } from '../item/item.ts'
import type { BackupOperation } from '../operations/backup-operation.ts'
import { tellToStop } from '../operations/cancel-operations.ts'
import { type BegunOperations, createOperationJournal } from '../operations/operation-journal.ts'
import { backupOperationPorts, type OpenSnapshotter } from '../operations/plugin-answers.ts'
import {
  countOperations,
  type OperationCounts,
  type OperationPorts,
  type PolledOperations,
  pollOperations,
} from '../operations/poll-operations.ts'
import type { PluginSession, PluginSessions } from '../plugin-host/plugin-session.ts'
import { type OpenSnapshotters, type Snapshotters, snapshotterOfOperation } from '../volumes/snapshotters.ts'
import { discardSnapshots, isNativeSnapshot } from './volumes/discard-snapshots.ts'

/** How many operations of a backup are asked about at once. */
export const askedAtOnce = 16

/** How long it may take to stop the operations of a backup that failed, and of one whose server ends. */
export const stopWithinMs = { failed: 60_000, stopping: 2_500 }

/** How long deleting its snapshots may take after that, however long that took; and noting what is left in the end. */
export const discardWithinMs = { failed: 60_000, stopping: 1_500 }
const noteWithinMs = { failed: 60_000, stopping: 1_000 }

/** How the operations of a backup stand. */
export interface SettledOperations extends OperationCounts {
  operations: readonly BackupOperation[]
}

/** What the operations of a backup are asked through. */
export interface AskingScope {
  clock: Clock
  log: Logger
  plugins: PluginSession
  snapshotters: Snapshotters | undefined
}

/** With the session of the backup and its log. */
export interface RunOperationsScope extends AskingScope {
  /**
   * For questions: what plugins do when they are asked is no error of the backup, whose log counts errors. Those who do not answer are
   * asked again.
   */
  asking: { plugins: PluginSessions; openSnapshotters?: OpenSnapshotters | undefined; log: Logger }
  signal: AbortSignal
}

/** The operations of a backup from their beginning until they are stored, or stopped because it failed. */
export class RunOperations {
  readonly begun: BegunOperations<BackupOperation>
  readonly #request: { backup: Backup; store: BackupStore; stopping?: AbortSignal | undefined }
  readonly #scope: RunOperationsScope
  readonly #ports: OperationPorts<BackupOperation>
  /** As they were when they were last asked about. */
  #latest: readonly BackupOperation[] | undefined

  constructor(
    request: { backup: Backup; store: BackupStore; stopping?: AbortSignal | undefined },
    scope: RunOperationsScope,
  ) {
    this.#request = request
    this.#scope = scope
    const { store } = request
    this.begun = createOperationJournal({ store, owner: this.#owner, signal: scope.signal })
    this.#ports = operationPortsOf(request.backup, scope)
  }

  /**
   * Asks about every operation once, when all else is done; those that have failed are errors of the backup. Those of a backup that
   * broke off are stopped instead: those whose actions do not hear it stay as they are, for whoever deletes the backup or gives it up. Throws
   * the signal's reason.
   */
  async settle(failure: string | undefined): Promise<SettledOperations> {
    const { log, signal } = this.#scope
    if (failure !== undefined) {
      const error = `the backup failed: ${failure}`
      const { operations, heard } = await tellToStop(this.begun.all, { ports: this.#ports, error, signal })
      this.#latest = heard
      // Whoever deletes a snapshot ends its upload, too: of a backup that broke off, none is good.
      const known = operations.map((ended, at) => (isNativeSnapshot(ended) ? ended : (heard[at] ?? ended)))
      return { operations: known, ...countOperations(known) }
    }
    const polled = await this.#ask()
    this.#latest = polled.operations
    for (const { operation } of polled.failures) {
      const { fields, message } = operationFailure(operation)
      log.error(fields, message)
    }
    return polled
  }

  async #ask(): Promise<PolledOperations<BackupOperation>> {
    const { clock, asking, signal } = this.#scope
    const { log, openSnapshotters } = asking
    const { backup } = this.#request
    const options = { timeoutMs: operationTimeoutOf(backup), atOnce: askedAtOnce, signal }
    // Opening a session costs nothing before the first question.
    await using plugins = asking.plugins.open({ log })
    const snapshotters = openSnapshotters?.(plugins)
    const ports = operationPortsOf(backup, { clock, log, plugins, snapshotters })
    return await pollOperations(this.begun.all, ports, options)
  }

  /**
   * Stops what has not ended, then deletes snapshots, each as far as it can be done in the time there is. Returns whether nothing is left
   * of either; what is left is noted in the bucket, from where it can be stopped later. Throws nothing.
   */
  async abandon(reason: string): Promise<boolean> {
    const operations = this.#latest ?? this.begun.all
    const isStopped = await this.#cancel(operations, `the backup failed: ${reason}`)
    const left = await this.#discard(operations)
    if (isStopped && left.length === 0) return true
    await this.#noteLeft(operations)
    return false
  }

  async #cancel(operations: readonly BackupOperation[], error: string): Promise<boolean> {
    const signal = this.#within(stopWithinMs)
    return await tellToStop(operations, { ports: this.#ports, error, signal }).then(
      ({ unheard }) => unheard === 0,
      () => false,
    )
  }

  async #discard(operations: readonly BackupOperation[]): Promise<readonly BackupOperation[]> {
    const { snapshotters, log } = this.#scope
    if (snapshotters === undefined) return operations.filter(isNativeSnapshot)
    return await discardSnapshots(operations, { snapshotters, log, signal: this.#within(discardWithinMs) })
  }

  /** Those whose note was on its way when the backup was aborted are not in the journal. */
  async #noteLeft(operations: readonly BackupOperation[]): Promise<void> {
    const { log } = this.#scope
    const { store } = this.#request
    const file = { ...this.#owner, file: 'itemOperations' } as const
    await store.putJson(file, operations, this.#within(noteWithinMs)).catch((error: unknown) => {
      log.warn({ error }, 'Operations that are to be stopped could not be noted again')
    })
  }

  #within({ failed, stopping }: { failed: number; stopping: number }): AbortSignal {
    return AbortSignal.timeout(this.#request.stopping?.aborted ? stopping : failed)
  }

  /** The file of operations has taken its place. What cannot be deleted now is deleted when the backup is finalized. */
  async deleteJournal(): Promise<void> {
    const { log, signal } = this.#scope
    if (this.begun.all.length === 0) return
    await this.#request.store.deleteSegments(this.#owner, signal).catch((error: unknown) => {
      signal.throwIfAborted()
      log.debug({ error }, 'The journal of operations could not be deleted yet')
    })
  }

  get #owner() {
    return { of: 'backup', name: this.#request.backup.metadata.name ?? '' } as const
  }
}

/** Asks through the plugins of a session. */
export function operationPortsOf(
  backup: Backup,
  { clock, log, plugins, snapshotters }: AskingScope,
): OperationPorts<BackupOperation> {
  const openSnapshotter = snapshotters === undefined ? noSnapshotters : snapshotterOfOperation(snapshotters)
  return backupOperationPorts(backup, { plugins, clock, log, openSnapshotter })
}

const noSnapshotters: OpenSnapshotter = async location => {
  throw new PluginError('NO_SUCH_PLUGIN', {
    reason: `there are no snapshotters here, and so none for the location ${location}`,
  })
}

/** How long each operation of a backup may take. */
export function operationTimeoutOf({ spec }: Backup): number {
  return durationMilliseconds(spec.itemOperationTimeout) ?? 0
}

/** What the log and the results say about an operation that failed: the same for the same operation, whenever it is said. */
export function operationFailure({ spec, status }: BackupOperation): { fields: object; message: string } {
  const { Group, Resource, Namespace, Name } = spec.resourceIdentifier
  const error = `${status.error ?? ''}, plugin: ${spec.backupItemAction}, operation: ${spec.operationID}`
  const resource = groupResource({ group: Group, plural: Resource })
  return { fields: { resource, namespace: Namespace, name: Name, error }, message: 'An operation failed' }
}

/** As the status of the backup has it. Absent where there are none. */
export function countsOf({ operations, completed, failed }: SettledOperations): BackupStatus {
  if (operations.length === 0) return {}
  return {
    backupItemOperationsAttempted: operations.length,
    ...(completed > 0 && { backupItemOperationsCompleted: completed }),
    ...(failed > 0 && { backupItemOperationsFailed: failed }),
  }
}

import type { Restore } from '@lateen/api'
import type { Logger } from '@lateen/kube'
import type { BackupStore } from '../backup-store/backup-store.ts'
import type { RestoreFile } from '../backup-store/bucket-layout.ts'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import type { WaitingOperations } from '../operations/waiting-operations.ts'
import type { BackupLog } from '../report/report.ts'
import { mergeResults } from './hooks/merge-results.ts'
import type { RestoreReport } from './items/restore-report.ts'
import type { RestoreOutcome } from './restore-request.ts'
import { journalOwnerOf, type SettledOperations } from './settle-operations.ts'

/** A restore whose work is over, and where its files go. */
export interface RestoreToStore {
  request: { restore: Restore; store: BackupStore }
  ports: {
    /** The server's own log. */
    log: Logger
    waiting?: WaitingOperations<RestoreOperation>
  }
  /** Of the restore. */
  log: BackupLog
  /** What is said besides the outcome. */
  report: RestoreReport
  /** Undefined for one that broke off. */
  outcome: RestoreOutcome | undefined
  settled: SettledOperations
}

/**
 * Stores log, results and lists of a restore. Operations that go on are remembered, too. A file that cannot be stored is a line in the
 * server's log. Throws the signal's reason.
 */
export async function storeRestoreFiles(done: RestoreToStore, signal: AbortSignal): Promise<void> {
  const { request, ports, log, report, outcome, settled } = done
  const name = request.restore.metadata.name ?? ''
  const stored = async (file: RestoreFile, put: () => Promise<void>): Promise<boolean> => {
    try {
      await put()
      return true
    } catch (error) {
      signal.throwIfAborted()
      ports.log.error({ error, restore: name, file }, 'a file of a restore could not be stored')
      return false
    }
  }
  const json = (file: RestoreFile, value: unknown) =>
    stored(file, () => request.store.putJson({ of: 'restore', name, file }, value, signal))
  const results = outcome === undefined ? log.results : mergeResults(outcome.results, report.results)
  await stored('log', () => request.store.put({ of: 'restore', name, file: 'log' }, () => log.open(), signal))
  await json('results', results)
  await json('resourceList', outcome?.resourceList ?? {})
  const noted = await stored('itemOperations', () => storeOperations(done, signal))
  await json('volumeInfo', outcome?.volumeInfo ?? [])
  if (noted && settled.operations.length > 0) await dropJournal(done, signal)
}

async function storeOperations(
  { request, ports, settled }: RestoreToStore,
  signal: AbortSignal,
): Promise<void> {
  const { name = '', uid = '' } = request.restore.metadata
  const { operations, unfinished } = settled
  if (unfinished > 0 && ports.waiting !== undefined) {
    await ports.waiting.save({ of: 'restore', name, uid, operations }, request.store, signal)
  } else await request.store.putJson({ of: 'restore', name, file: 'itemOperations' }, operations, signal)
}

/** From now on the file says everything. */
async function dropJournal({ request, ports }: RestoreToStore, signal: AbortSignal): Promise<void> {
  const { restore, store } = request
  const { name } = restore.metadata
  try {
    await store.deleteSegments(journalOwnerOf(restore), signal)
  } catch (error) {
    signal.throwIfAborted()
    ports.log.warn({ error, restore: name }, 'the journal of a restore is left in the bucket')
  }
}

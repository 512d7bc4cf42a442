import type { Readable } from 'node:stream'
import type { Backup } from '@lateen/api'
import type { Logger } from '@lateen/kube'
import type { BackupStore, StoredFile } from '../../backup-store/backup-store.ts'
import type { BackupFile } from '../../backup-store/bucket-layout.ts'
import { mergeResultsOnce } from '../../report/merge-results.ts'
import type { BackupLog, Results } from '../../report/report.ts'

export interface ReportScope {
  backup: Backup
  store: BackupStore
  /** What is new. */
  log: BackupLog
  signal: AbortSignal
}

/** What the files of the backup tell of warnings and errors. */
export async function readResults(scope: Omit<ReportScope, 'log'>): Promise<Results> {
  const { store, signal } = scope
  const stored = (await store.getJson(fileOf(scope, 'results'), signal)) as Partial<Results> | undefined
  return { errors: stored?.errors ?? {}, warnings: stored?.warnings ?? {} }
}

/** Adds warnings and errors to the results, and the lines to the log. A log that cannot be stored fails no backup. */
export async function addToReport(
  results: Results,
  scope: ReportScope & { serverLog: Logger },
): Promise<void> {
  const { store, log, serverLog, signal } = scope
  if (log.errors + log.warnings > 0) {
    await store.putJson(fileOf(scope, 'results'), mergeResultsOnce(results, log.results), signal)
  }
  const file = fileOf(scope, 'log')
  const whole = async () => joined(await store.get(file, signal), await log.open())
  await store.put(file, whole, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    serverLog.error({ error, backup: scope.backup.metadata.name }, 'a log could not be stored')
  })
}

/** Gzip files one after the other are one gzip file. */
async function* joined(
  first: Readable | undefined,
  second: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (first !== undefined) yield* first as AsyncIterable<Uint8Array>
  yield* second
}

/** A file of the backup. */
export function fileOf({ backup }: { backup: Backup }, file: BackupFile): StoredFile {
  return { of: 'backup', name: backup.metadata.name ?? '', file }
}

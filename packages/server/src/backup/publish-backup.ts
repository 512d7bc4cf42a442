import type { BackupStore, FileBody } from '../backup-store/backup-store.ts'
import type { BackupFile } from '../backup-store/bucket-layout.ts'
import type { BackupLog } from '../report/report.ts'
import type { ResourceList } from '../report/resource-list.ts'
import type { FinishedArchive } from './archive/archive.ts'

/** Everything that a backup leaves in the bucket, but for `velero-backup.json`. */
export interface BackupFiles {
  contents: FinishedArchive
  log: BackupLog
  resourceList: ResourceList
  podVolumeBackups: readonly unknown[]
  volumeSnapshots: readonly unknown[]
  itemOperations: readonly unknown[]
  volumeInfo: readonly unknown[]
}

export interface PublishOptions {
  store: BackupStore
  /** The backup's name. */
  name: string
  /** Told when the log could not be stored, which does not fail the backup. */
  onLogLost: (error: unknown) => void
  signal: AbortSignal
}

/** A backup's files could not be stored, or what it had begun could not be stopped; the message is the reason why it ended. */
export class PublishError extends Error {
  override readonly name = 'PublishError'
  /** Files are still in the bucket, and by them operations and snapshots can be found that could not be stopped or deleted yet. */
  readonly leftovers: boolean

  constructor(cause: unknown, leftovers: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.leftovers = leftovers
  }
}

/**
 * Deletes the files of a backup that ended for this reason, as far as the store lets us, and returns what is to be thrown. What it had
 * begun must have been stopped: nobody finds that without them.
 */
export async function withoutFiles(
  cause: unknown,
  { store, name, signal }: Pick<PublishOptions, 'store' | 'name' | 'signal'>,
): Promise<PublishError> {
  const leftovers = await store.deleteBackup(name, signal).then(
    () => false,
    () => true,
  )
  return new PublishError(cause, leftovers)
}

/**
 * Stores the files of a backup. Nobody takes them for a backup before `velero-backup.json` stands beside them. Throws PublishError, with
 * those left that were stored so far. An abort is thrown as it is.
 */
export async function publishBackup(files: BackupFiles, options: PublishOptions): Promise<void> {
  try {
    await publishFiles(files, options)
  } catch (error) {
    options.signal.throwIfAborted()
    throw new PublishError(error, true)
  }
  const { store, name, signal } = options
  await store
    .put({ of: 'backup', name, file: 'log' }, () => files.log.open(), signal)
    .catch(options.onLogLost)
}

async function publishFiles(files: BackupFiles, { store, name, signal }: PublishOptions): Promise<void> {
  const put = (file: BackupFile, body: FileBody) => store.put({ of: 'backup', name, file }, body, signal)
  const putJson = (file: BackupFile, value: unknown) =>
    store.putJson({ of: 'backup', name, file }, value, signal)
  await put('contents', () => files.contents.open())
  await putJson('resourceList', files.resourceList)
  await putJson('podVolumeBackups', files.podVolumeBackups)
  await putJson('volumeSnapshots', files.volumeSnapshots)
  await putJson('itemOperations', files.itemOperations)
  await putJson('volumeInfo', files.volumeInfo)
  await putJson('results', files.log.results)
}

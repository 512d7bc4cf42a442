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

/** A backup's files could not be stored; the message is the reason. */
export class PublishError extends Error {
  override readonly name = 'PublishError'
  /** Files that were stored before could not be deleted again. */
  readonly leftovers: boolean

  constructor(cause: unknown, leftovers: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.leftovers = leftovers
  }
}

/**
 * Does what stores files of a backup. When that fails, the files stored so far are deleted, as far as the store lets us, and a
 * PublishError is thrown. An abort is thrown as it is: who stops has no time to tidy up, and is found out at the next start.
 */
export async function storingOrNothing<T>(
  { store, name, signal }: Pick<PublishOptions, 'store' | 'name' | 'signal'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    signal.throwIfAborted()
    const leftovers = await store.deleteBackup(name, signal).then(
      () => false,
      () => true,
    )
    throw new PublishError(error, leftovers)
  }
}

/**
 * Stores the files of a backup. Nobody takes them for a backup before `velero-backup.json` stands beside them. Throws as
 * `storingOrNothing` does.
 */
export async function publishBackup(files: BackupFiles, options: PublishOptions): Promise<void> {
  const { store, name, signal } = options
  const put = (file: BackupFile, body: FileBody) => store.put({ of: 'backup', name, file }, body, signal)
  const putJson = (file: BackupFile, value: unknown) =>
    store.putJson({ of: 'backup', name, file }, value, signal)
  await storingOrNothing(options, async () => {
    await put('contents', () => files.contents.open())
    await putJson('resourceList', files.resourceList)
    await putJson('podVolumeBackups', files.podVolumeBackups)
    await putJson('volumeSnapshots', files.volumeSnapshots)
    await putJson('itemOperations', files.itemOperations)
    await putJson('volumeInfo', files.volumeInfo)
    await putJson('results', files.log.results)
  })
  await put('log', () => files.log.open()).catch(options.onLogLost)
}

import type { BackupStore, FileBody } from '../backup-store/backup-store.ts'
import type { BackupFile } from '../backup-store/bucket-layout.ts'
import type { FinishedArchive } from './archive/archive.ts'
import type { BackupLog } from './report/report.ts'
import type { ResourceList } from './report/resource-list.ts'

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

/**
 * Stores the files of a backup. Nobody takes them for a backup before `velero-backup.json` stands beside them. When a
 * file cannot be stored, those that were are deleted again, as far as the store lets us, and the reason is thrown.
 */
export async function publishBackup(files: BackupFiles, options: PublishOptions): Promise<void> {
  const { store, name, signal } = options
  const put = (file: BackupFile, body: FileBody) => store.put({ of: 'backup', name, file }, body, signal)
  const putJson = (file: BackupFile, value: unknown) =>
    store.putJson({ of: 'backup', name, file }, value, signal)
  try {
    await put('contents', () => files.contents.open())
    await putJson('resourceList', files.resourceList)
    await putJson('podVolumeBackups', files.podVolumeBackups)
    await putJson('volumeSnapshots', files.volumeSnapshots)
    await putJson('itemOperations', files.itemOperations)
    await putJson('volumeInfo', files.volumeInfo)
    await putJson('results', files.log.results)
  } catch (error) {
    await store.deleteBackup(name).catch(() => undefined)
    throw error
  }
  await put('log', () => files.log.open()).catch(options.onLogLost)
}

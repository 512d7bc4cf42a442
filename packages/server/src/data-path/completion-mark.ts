import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { syncFolder } from './sync-folder.ts'

const folder = '.velero'

/**
 * Marks a volume as restored, for the init container that waits for it: a file named after the restore, which a failure of the node does not take away. The
 * restored files have to be on the device before. Marks of earlier restores, which may have been in the backup, go. That container seldom runs as root: it
 * can take the mark away only from a folder that everybody may write to. Throws what the file system throws.
 */
export async function markRestored(volume: string, restoreUid: string, sync = syncFolder): Promise<void> {
  const marks = path.join(volume, folder)
  await rm(marks, { recursive: true, force: true })
  await mkdir(marks, { mode: 0o755 })
  await chmod(marks, 0o777)
  await sync(volume)
  await writeFile(path.join(marks, restoreUid), '', { mode: 0o644, flush: true })
  await sync(marks).catch((error: NodeJS.ErrnoException) => {
    // Whoever waits for the mark may have taken it and its folder away.
    if (error.code !== 'ENOENT') throw error
  })
}

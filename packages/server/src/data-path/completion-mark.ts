import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

const folder = '.velero'

/**
 * Marks a volume as restored, for the init container that waits for it: a file named after the restore. Marks of earlier restores, which may have been in
 * the backup, go. That container seldom runs as root: it can take the mark away only from a folder that everybody may write to. Throws what
 * the file system throws.
 */
export async function markRestored(volume: string, restoreUid: string): Promise<void> {
  await rm(path.join(volume, folder), { recursive: true, force: true })
  await mkdir(path.join(volume, folder), { mode: 0o755 })
  await writeFile(path.join(volume, folder, restoreUid), '', { mode: 0o644 })
  await chmod(path.join(volume, folder), 0o777)
}

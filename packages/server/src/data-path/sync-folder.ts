import { open } from 'node:fs/promises'

/** What file systems say that sync no folders. */
const unsupported = ['EINVAL', 'ENOTSUP']

/** Waits until the names in a folder are on its device, where its file system can say so. Throws what the file system throws. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  await using opened = await open(folder)
  await opened.sync().catch((error: NodeJS.ErrnoException) => {
    if (!unsupported.includes(error.code ?? '')) throw error
  })
}

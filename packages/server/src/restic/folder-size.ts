import { lstat, opendir } from 'node:fs/promises'
import path from 'node:path'

/** The bytes of all files below a folder that grows meanwhile; what cannot be read counts nothing. Throws the signal's reason. */
export async function folderSize(folder: string, signal: AbortSignal): Promise<number> {
  let size = 0
  const entries = await opendir(folder).catch(() => undefined)
  for await (const entry of entries ?? []) {
    signal.throwIfAborted()
    const inside = path.join(folder, entry.name)
    if (entry.isDirectory()) size += await folderSize(inside, signal)
    else if (entry.isFile()) size += await fileSize(inside)
  }
  return size
}

function fileSize(file: string): Promise<number> {
  return lstat(file).then(
    ({ size }) => size,
    () => 0,
  )
}

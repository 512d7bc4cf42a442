import { fsync } from 'node:fs'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'

/**
 * Waits until everything written to the file system of an open folder is on its device: `syncfs` on Linux, elsewhere the
 * folder itself. Other work goes on meanwhile. Throws system errors, and where not everything could be written.
 */
export async function syncFilesystem(fd: number): Promise<void> {
  native ??= loadCall() ?? 'none'
  const isDone = native !== 'none' && (await native(fd)) === 0
  if (isDone) return
  await fsyncFolder(fd)
  // The folder itself may be well where a file is not.
  if (native !== 'none') throw new Error('syncfs: not everything could be written to the device')
}

type Syncfs = (fd: number) => Promise<number>

const fsyncFolder = promisify(fsync)

let native: Syncfs | 'none' | undefined

function loadCall(): Syncfs | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi')
    return promisify(koffi.load(null).func('int syncfs(int fd)').async) as Syncfs
  } catch {
    // No binary for this platform.
    return undefined
  }
}

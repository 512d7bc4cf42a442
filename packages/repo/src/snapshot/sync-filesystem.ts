import { fsyncSync } from 'node:fs'
import { createRequire } from 'node:module'

/**
 * Waits until everything written to the file system of an open folder is on its device: `syncfs` on Linux, elsewhere the
 * folder itself. Throws system errors.
 */
export function syncFilesystem(fd: number): void {
  call ??= loadCall()
  if (call(fd) !== 0) fsyncSync(fd)
}

let call: ((fd: number) => number) | undefined

function loadCall(): (fd: number) => number {
  const unavailable = () => -1
  if (process.platform !== 'linux') return unavailable
  try {
    const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi')
    return koffi.load(null).func('int syncfs(int fd)')
  } catch {
    return unavailable
  }
}

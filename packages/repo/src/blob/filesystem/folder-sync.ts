import { constants } from 'node:fs'
import { errnoOf } from '../filesystem-error.ts'
import { close, fsync, open } from './calls.ts'

/** Syncs folders; those who ask while one is being synced share the next sync, which begins after they asked. */
export function sharedFolderSync(): (folder: string) => Promise<void> {
  const running = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<void>>()
  function sync(folder: string): Promise<void> {
    const shared = waiting.get(folder)
    if (shared !== undefined) return shared
    const current = running.get(folder)
    if (current === undefined) {
      const started = syncFolder(folder).finally(() => running.delete(folder))
      running.set(folder, started)
      return started
    }
    const again = () => {
      waiting.delete(folder)
      return sync(folder)
    }
    const next = current.then(again, again)
    waiting.set(folder, next)
    return next
  }
  return sync
}

/** Makes the names in a folder survive the machine's death, where the file system can. */
export async function syncFolder(folder: string): Promise<void> {
  const fd = await open(folder, constants.O_RDONLY)
  try {
    await fsync(fd)
  } catch (error) {
    // Some network file systems cannot sync folders; there is nothing more to be had from them.
    if (!['EINVAL', 'ENOTSUP', 'EBADF'].includes(errnoOf(error) ?? '')) throw error
  } finally {
    await close(fd)
  }
}

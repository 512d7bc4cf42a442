import { fchmodSync, fchownSync, lchownSync } from 'node:fs'
import type { DirectoryEntry } from './directory.ts'
import type { TimeSetter } from './exact-times.ts'
import { unixModeFromGo } from './go-file-mode.ts'

/** Which attributes a restore gives to what it writes. */
export interface AttributeOptions {
  owners: boolean
  permissions: boolean
  times: boolean
  /** True turns a refused owner or mode into a note. */
  ignorePermissionErrors: boolean
}

/** What a restored entry gets besides its data. */
export type EntryAttributes = Pick<DirectoryEntry, 'uid' | 'gid' | 'mode' | 'mtime'>

/** Gives restored entries their owner, mode and time, in the one order in which none undoes another. */
export interface AttributeSetter {
  /** Of an open file or folder; the descriptor may be one for reading. */
  setOpen(fd: number, entry: EntryAttributes): void
  /** Of a symlink itself, by a path whose last part is not followed. Symlinks have no mode. */
  setSymlink(path: string, entry: EntryAttributes): void
}

type Note = (text: string) => void

/**
 * The setter for one restore. Its methods throw system errors, except those that `ignorePermissionErrors` turns into
 * notes.
 */
export function attributeSetter(options: AttributeOptions, times: TimeSetter, note: Note): AttributeSetter {
  const tolerant = (what: string, change: () => void) => {
    try {
      change()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const refused = code === 'EPERM' || code === 'EACCES' || code === 'EINVAL' || code === 'ENOTSUP'
      if (!refused || !options.ignorePermissionErrors) throw error
      note(`${what} could not be set (${code}): run as root to keep them`)
    }
  }
  if (options.times && !times.exact) note('times are rounded: utimensat cannot be called on this system')
  return {
    setOpen(fd, entry) {
      // chown drops setuid and setgid, chmod changes no time; so owner, mode, time.
      if (options.owners) tolerant('owners', () => fchownSync(fd, entry.uid, entry.gid))
      if (options.permissions) tolerant('modes', () => fchmodSync(fd, unixModeFromGo(entry.mode)))
      if (options.times) times.setOpen(fd, entry.mtime)
    },
    setSymlink(path, entry) {
      if (options.owners) tolerant('owners', () => lchownSync(path, entry.uid, entry.gid))
      if (options.times) times.setPath(path, entry.mtime)
    },
  }
}

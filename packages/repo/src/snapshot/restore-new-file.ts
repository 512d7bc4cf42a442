import { closeSync, constants, openSync, unlinkSync, writeSync } from 'node:fs'
import type { AttributeSetter, EntryAttributes } from './restore-attributes.ts'

/** A file to make where nothing has its name. */
export interface NewFile {
  path: string | Buffer
  attributes: EntryAttributes
}

/** How a file of a restore is made: never over something, never through a symlink. */
export const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** Makes a file with these bytes, without waiting for anything else. Throws system errors; nothing partial stays behind. */
export function restoreNewFile(file: NewFile, bytes: Uint8Array, attributes: AttributeSetter): void {
  const fd = openSync(file.path, createFlags, 0o600)
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, done)
    attributes.setOpen(fd, file.attributes)
  } catch (error) {
    unlinkSync(file.path)
    throw error
  } finally {
    closeSync(fd)
  }
}

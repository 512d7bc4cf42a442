import fs from 'node:fs'
import { promisify } from 'node:util'
import { errnoOf, type FileOperation, filesystemError } from '../filesystem-error.ts'

/** The calls of `node:fs` as promises, and how their failures are told. */
// File descriptors rather than FileHandle: a content is a range of a blob, and handles cost more than the read.
export const [open, close, fsync] = [promisify(fs.open), promisify(fs.close), promisify(fs.fsync)]
export const [fstat, lstat, read] = [promisify(fs.fstat), promisify(fs.lstat), promisify(fs.read)]
export const [rename, unlink] = [promisify(fs.rename), promisify(fs.unlink)]
export const [mkdir, readdir, readFile] = [promisify(fs.mkdir), promisify(fs.readdir), promisify(fs.readFile)]
export const [link, realpath, access] = [promisify(fs.link), promisify(fs.realpath), promisify(fs.access)]
export const [chown, fchown] = [promisify(fs.chown), promisify(fs.fchown)]

/** Runs an operation on files; what it throws becomes a `RepoError` that says what was being done. */
export async function explained<T>(operation: FileOperation, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw filesystemError(error, operation)
  }
}

/** The result, or undefined when there is no such file or folder. */
export async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

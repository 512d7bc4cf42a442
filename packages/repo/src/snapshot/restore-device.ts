import { closeSync, constants, fstatSync, fsyncSync, openSync } from 'node:fs'
import type { ContentStore } from '../content/content-store.ts'
import { RepoError } from '../errors/repo-error.ts'
import { openObject } from '../object/object-reader.ts'
import type { DirectoryEntry } from './directory.ts'
import { readDirectory } from './read-directory.ts'
import { writeObject } from './write-object.ts'

/** Which snapshot of a block device goes where. */
export interface RestoreDeviceOptions {
  contents: ContentStore
  /** The root of a snapshot: a file, or a directory with one file, whose name does not matter. */
  entry: DirectoryEntry
  /** The path of a block device, or of a file that stands for one. It must exist. */
  device: string
  onProgress?: (progress: { bytes: number; totalBytes: number }) => void
  signal?: AbortSignal | undefined
}

/**
 * Writes the one object of a block snapshot over a device, from its start, zeros included, and waits until the device has
 * them. Returns the bytes written. Throws INVALID_ARGUMENT when the snapshot is not one of a device, TARGET_FAILED when the
 * device cannot be written, CORRUPT for damaged data.
 */
export async function restoreDevice(options: RestoreDeviceOptions): Promise<number> {
  const { contents, signal } = options
  const file = await deviceEntry(options)
  const reader = await openObject(contents, file.obj, signal)
  const fd = openDevice(options.device)
  let bytes = 0
  const onBytes = (amount: number) => {
    bytes += amount
    options.onProgress?.({ bytes, totalBytes: file.size })
  }
  try {
    await writeObject(fd, reader, { size: file.size, sparse: false, signal, onBytes })
    fsyncSync(fd)
    return bytes
  } catch (cause) {
    throw cause instanceof RepoError ? cause : deviceFailed(options.device, cause)
  } finally {
    closeSync(fd)
  }
}

async function deviceEntry({ contents, entry, signal }: RestoreDeviceOptions): Promise<DirectoryEntry> {
  if (entry.type === 'f') return entry
  const entries = entry.type === 'd' ? (await readDirectory(contents, entry, signal)).entries : []
  const [only] = entries
  if (entries.length === 1 && only?.type === 'f') return only
  throw new RepoError('INVALID_ARGUMENT', {
    message: 'the snapshot is not one of a block device: it does not hold exactly one file',
    hint: 'restore it into a folder',
    objectId: entry.obj,
  })
}

function openDevice(path: string): number {
  try {
    const fd = openSync(path, constants.O_WRONLY)
    const stats = fstatSync(fd)
    if (stats.isBlockDevice() || stats.isFile()) return fd
    closeSync(fd)
  } catch (cause) {
    throw deviceFailed(path, cause)
  }
  throw deviceFailed(path, new Error('it is neither a block device nor a file'))
}

function deviceFailed(path: string, cause: unknown): RepoError {
  return new RepoError('TARGET_FAILED', {
    message: `cannot write to ${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
    hint: 'name a block device that is at least as large as the one in the snapshot',
    path,
    cause,
  })
}

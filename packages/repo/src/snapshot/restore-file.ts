import type { BigIntStats } from 'node:fs'
import {
  closeSync,
  constants,
  open,
  openSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs'
import type { ContentStore } from '../content/content-store.ts'
import { RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { openObject, readObjectOf } from '../object/object-reader.ts'
import type { ContainedFolder } from './contained-folder.ts'
import { decideOverwrite, type Existing, type OverwriteRules } from './decide-overwrite.ts'
import type { DirectoryEntry } from './directory.ts'
import { unixModeFromGo } from './go-file-mode.ts'
import { storedName } from './name.ts'
import { removeContained } from './remove-contained.ts'
import type { AttributeSetter } from './restore-attributes.ts'
import { createFlags } from './restore-new-file.ts'
import type { RestoreReport } from './restore-report.ts'
import { longestWrittenByThread, type RestoreWriter } from './restore-writer.ts'
import { writeObject, wrongLength } from './write-object.ts'

/** What restoring one entry needs besides the entry. */
export interface RestoreContext {
  contents: ContentStore
  rules: OverwriteRules
  attributes: AttributeSetter
  report: RestoreReport
  sparse: boolean
  /** Leaves a file alone whose size and time equal the snapshot's; its owner and mode are still set. */
  skipUnchanged: boolean
  /** Makes small files where there is nothing yet; undefined when this thread makes them all. */
  writer: RestoreWriter | undefined
  signal: AbortSignal | undefined
}

/** Where an entry goes. */
export interface RestorePlace {
  folder: ContainedFolder
  /** False when the restore made the folder itself or found it empty, so that nothing can be there yet. */
  mayExist: boolean
  /** A name that no entry of the folder has, for files that are renamed into place. */
  temporaryName: () => string
}

/** What is shorter than a block of a file system has no room for a hole. */
const shortestHole = 4096

const longestTarget = 64 * 1024

/** What stands at a name, as far as the overwrite rules ask. */
export function existingAt(folder: ContainedFolder, name: string): { kind: Existing; stats?: BigIntStats } {
  const stats = folder.lstat(name)
  if (stats === undefined) return { kind: 'nothing' }
  if (stats.isFile()) return { kind: 'file', stats }
  if (stats.isSymbolicLink()) return { kind: 'symlink', stats }
  if (!stats.isDirectory()) return { kind: 'other', stats }
  using inside = folder.openFolder(name)
  return { kind: inside.names().length === 0 ? 'empty folder' : 'folder', stats }
}

/** The error for something that the overwrite rules protect. */
export function refusal(existing: Existing): RepoError {
  return new RepoError('ALREADY_EXISTS', {
    message: `the target has ${existing === 'other' ? 'a special file' : `a ${existing}`} of this name, which is to be kept`,
    hint: 'restore into an empty folder, or allow to overwrite it',
  })
}

/**
 * Restores a regular file. A file that is already there is replaced in one step when the new one is complete, and stays
 * as it is when the data cannot be read. Throws what reading and writing throw; nothing partial stays behind.
 */
export async function restoreFileEntry(
  context: RestoreContext,
  entry: DirectoryEntry,
  place: RestorePlace,
): Promise<void> {
  const { folder } = place
  const name = storedName(entry.name)
  if (isForWriter(context, entry, place)) return restoreByWriter(context, entry, folder.at(name))
  const existing = place.mayExist ? existingAt(folder, name) : { kind: 'nothing' as const }
  if (context.skipUnchanged && existing.stats?.isFile() && isUnchanged(existing.stats, entry)) {
    if (keepFile(context, entry, { folder, stats: existing.stats })) return
  }
  const placement = decideOverwrite('file', existing.kind, context.rules)
  if (placement === 'refuse') throw refusal(existing.kind)
  const reader = await openObject(context.contents, entry.obj, context.signal)
  const writtenAs = placement === 'create' ? name : place.temporaryName()
  const fd =
    placement === 'create'
      ? await createFile(folder.at(name))
      : openSync(folder.at(writtenAs), createFlags, 0o600)
  try {
    const { signal, sparse, report } = context
    await writeObject(fd, reader, {
      size: entry.size,
      sparse,
      signal,
      onBytes: bytes => report.count('bytes', bytes),
    })
    context.attributes.setOpen(fd, entry)
    if (placement === 'replace') makeRoom(context, folder, { name, existing: existing.kind })
    if (writtenAs !== name) renameSync(folder.at(writtenAs), folder.at(name))
  } catch (error) {
    unlinkSync(folder.at(writtenAs))
    throw error
  } finally {
    closeSync(fd)
  }
  context.report.count('files')
}

/** Restores a symlink as it was stored, wherever it points: nothing that is restored later goes through it. */
export async function restoreSymlinkEntry(
  context: RestoreContext,
  entry: DirectoryEntry,
  place: RestorePlace,
): Promise<void> {
  const { folder } = place
  const name = storedName(entry.name)
  const target = await readTarget(context, entry)
  const existing = place.mayExist ? existingAt(folder, name) : { kind: 'nothing' as const }
  const path = folder.at(name) as string
  if (existing.kind !== 'symlink' || readlinkSync(path, { encoding: 'buffer' }).compare(target) !== 0) {
    const placement = decideOverwrite('symlink', existing.kind, context.rules)
    if (placement === 'refuse') throw refusal(existing.kind)
    if (placement === 'replace') removeContained(folder, name, context.signal)
    symlinkSync(target, path)
  }
  context.attributes.setSymlink(path, entry)
  context.report.count('symlinks')
}

/** True for a file that is made by another thread, so that many of them can wait for one. */
export function isForWriter(
  { writer, sparse }: RestoreContext,
  { size }: DirectoryEntry,
  { folder, mayExist }: Pick<RestorePlace, 'folder' | 'mayExist'>,
): boolean {
  if (writer === undefined || mayExist || !folder.holdsPaths) return false
  return size <= (sparse ? shortestHole : longestWrittenByThread)
}

async function restoreByWriter(
  { contents, writer, report, signal }: RestoreContext,
  entry: DirectoryEntry,
  path: string | Buffer,
): Promise<void> {
  const { obj: id, size, uid, gid, mode, mtime } = entry
  const { length, bytes } = await readObjectOf(contents, id, { length: size, signal })
  if (bytes === undefined) throw wrongLength({ id, length }, size)
  throwIfCancelled(signal)
  await writer?.write({ path, attributes: { uid, gid, mode, mtime } }, bytes)
  report.count('bytes', length)
  report.count('files')
}

// Making an inode is the slowest call of a restore of small files; in the thread pool several are made at once.
function createFile(path: string | Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    open(path, createFlags, 0o600, (error, fd) => (error ? reject(error) : resolve(fd)))
  })
}

function isUnchanged(stats: BigIntStats, entry: DirectoryEntry): boolean {
  return stats.size === BigInt(entry.size) && stats.mtimeNs === entry.mtime
}

/** Leaves the data of a file and sets the rest. False when the file cannot be opened for that. */
function keepFile(
  context: RestoreContext,
  entry: DirectoryEntry,
  { folder, stats }: { folder: ContainedFolder; stats: BigIntStats },
): boolean {
  const sameOwner = stats.uid === BigInt(entry.uid) && stats.gid === BigInt(entry.gid)
  const sameMode = (Number(stats.mode) & 0o7777) === unixModeFromGo(entry.mode)
  const fd = sameOwner && sameMode ? undefined : openToKeep(folder, entry)
  if (fd === null) return false
  if (fd !== undefined) {
    try {
      context.attributes.setOpen(fd, entry)
    } finally {
      closeSync(fd)
    }
  }
  context.report.count('skippedFiles')
  context.report.count('skippedBytes', entry.size)
  return true
}

function openToKeep(folder: ContainedFolder, entry: DirectoryEntry): number | null {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  try {
    return openSync(folder.at(storedName(entry.name)), flags)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return null
    throw error
  }
}

function makeRoom(
  context: RestoreContext,
  folder: ContainedFolder,
  at: { name: string; existing: Existing },
): void {
  const isFolder = at.existing === 'folder' || at.existing === 'empty folder'
  if (isFolder) context.report.count('deleted', removeContained(folder, at.name, context.signal))
}

async function readTarget(context: RestoreContext, entry: DirectoryEntry): Promise<Buffer> {
  const reader = await openObject(context.contents, entry.obj, context.signal)
  const bytes =
    reader.length > longestTarget ? undefined : await reader.read(0, reader.length, context.signal)
  if (bytes === undefined || bytes.length === 0 || bytes.includes(0)) {
    throw new RepoError('CORRUPT', {
      message: `its target of ${reader.length} bytes cannot be that of a symlink`,
      objectId: entry.obj,
    })
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

import { type BigIntStats, lstatSync, readlinkSync, statSync } from 'node:fs'
import { RepoError } from '../../errors/repo-error.ts'
import type { GoTime } from '../../go-json/go-time.ts'
import { goModeFromUnix } from '../go-file-mode.ts'
import { nameFromBytes } from '../name.ts'
import { childFilePath, type FilePath, printFilePath } from './file-path.ts'
import type { SourceFolder } from './source-folder.ts'

/** What an entry of a folder is; `other` stands for devices, fifos and sockets, which snapshots cannot hold. */
export type SourceKind = 'directory' | 'file' | 'symlink' | 'other'

/** One entry of the file system that is being uploaded. */
export interface SourceEntry {
  name: string
  /** For messages; `reached` is for the file system. */
  path: FilePath
  /** What it is in; undefined for the root. */
  folder: SourceFolder | undefined
  kind: SourceKind
  /** Go file mode bits without the type. */
  mode: number
  /** 0 for directories. */
  size: number
  mtime: GoTime
  uid: number
  gid: number
  device: bigint
}

/** The source could not be read; the upload's policy says whether that is fatal. */
export class SourceReadError extends Error {
  override readonly name = 'SourceReadError'
  readonly path: string
  /** The file system's code, such as EACCES. */
  readonly reason: string

  constructor(path: FilePath, cause: unknown) {
    const printed = printFilePath(path)
    super(withPath(cause instanceof Error ? cause.message : String(cause), printed), { cause })
    this.path = printed
    this.reason = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  }
}

/** The names in a folder, unsorted. Throws SourceReadError. */
export function listNames(folder: SourceFolder): string[] {
  return reading(folder.path, () => folder.latin1Names().map(nameFromLatin1))
}

/** An entry of a folder, symlinks not followed; undefined when it is gone. Throws SourceReadError. */
export function statEntry(folder: SourceFolder, name: string): SourceEntry | undefined {
  const at = reading(folder.path, () => folder.at(name))
  const path = childFilePath(folder.path, name)
  const stats = reading(path, () => lstatSync(at, { bigint: true, throwIfNoEntry: false }))
  return stats && sourceEntry(stats, { name, path, folder })
}

/**
 * What leads to the entry, for a call that does not follow a final symlink, while its folder is held. Throws when that is
 * closed.
 */
export function reached({ folder, name, path }: SourceEntry): FilePath {
  return folder === undefined ? path : folder.at(name)
}

/** The entry that a path leads to, symlinks followed. Throws RepoError SOURCE_FAILED. */
export function statRoot(path: string, name: string): SourceEntry {
  try {
    return sourceEntry(statSync(path, { bigint: true }), { name, path, folder: undefined })
  } catch (cause) {
    throw new RepoError('SOURCE_FAILED', {
      message: `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      hint: 'Check that the path exists and that this user may read it',
      path,
      cause,
    })
  }
}

/** The bytes of a symlink's target. Throws SourceReadError. */
export function readSymlink(entry: SourceEntry): Buffer {
  return reading(entry.path, () => readlinkSync(reached(entry), 'buffer'))
}

/** Runs file system calls on the source and names the path in what they throw. */
export function reading<T>(path: FilePath, calls: () => T): T {
  try {
    return calls()
  } catch (cause) {
    throw cause instanceof SourceReadError ? cause : new SourceReadError(path, cause)
  }
}

/** True when the error says that this very entry, there a moment ago, is gone now. */
export function hasVanished(entry: SourceEntry, error: unknown): boolean {
  return (
    error instanceof SourceReadError && error.reason === 'ENOENT' && error.path === printFilePath(entry.path)
  )
}

function sourceEntry(stats: BigIntStats, place: Pick<SourceEntry, 'name' | 'path' | 'folder'>): SourceEntry {
  const kind = kindOf(stats)
  return {
    ...place,
    kind,
    mode: goModeFromUnix(Number(stats.mode)),
    size: kind === 'directory' ? 0 : Number(stats.size),
    mtime: stats.mtimeNs,
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    device: stats.dev,
  }
}

function kindOf(stats: BigIntStats): SourceKind {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'symlink' : 'other'
}

const beyondAscii = /[\x80-\xff]/

// Latin-1 keeps each byte as one character, and nearly all names are ASCII.
function nameFromLatin1(name: string): string {
  return beyondAscii.test(name) ? nameFromBytes(Buffer.from(name, 'latin1')) : name
}

// A call names what it was given: the folder's descriptor in place of its path.
const addressed = /\/proc\/self\/fd\/\d+(\/?)/

function withPath(message: string, path: string): string {
  return message.replace(addressed, (_, slash) => (slash ? path.slice(0, path.lastIndexOf('/') + 1) : path))
}

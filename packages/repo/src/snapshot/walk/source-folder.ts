import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { sep } from 'node:path'
import { childFilePath, type FilePath } from './file-path.ts'

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY

// Folders of the way down that stay open while the walk is below them; others are opened again through `..`.
const openLevels = 64

/** The folders that one walk holds open. */
export class OpenFolders {
  readonly #open = new Set<SourceFolder>()

  get count(): number {
    return this.#open.size
  }

  /** Opens where a walk begins; symlinks in this path are followed. Throws system errors. */
  openRoot(path: FilePath): SourceFolder {
    const descriptor = openAddressable(path)
    const realRoot = realPath(descriptor ?? path)
    return new SourceFolder(this.#open, { path, realRoot, descriptor })
  }

  /** Closes what is still open, for when nothing reads in these folders any more. */
  close(): void {
    for (const folder of this.#open) folder.close()
  }
}

interface FolderPlace {
  path: FilePath
  /** Of the folder where the walk began, a character for each byte. */
  realRoot: string
  /** Undefined where children are addressed by the folder's path. */
  descriptor: number | undefined
  above?: SourceFolder
}

/**
 * A folder of the source, through which its children are reached by name. On Linux it is held open, and a child is addressed
 * below `/proc/self/fd`, which is what `openat` does: whoever puts a symlink in the folder's place while it is read leads
 * nobody astray. Elsewhere, and where `/proc` does not serve, children are addressed by the folder's path.
 *
 * It is open while it is held, once by whoever opened it. A descriptor's number means another folder when it was closed too
 * early, so what was not released before an upload failed waits for `OpenFolders.close`.
 */
export class SourceFolder {
  /** For messages. */
  readonly path: FilePath
  readonly #open: Set<SourceFolder>
  readonly #realRoot: string
  readonly #above: SourceFolder | undefined
  readonly #level: number
  readonly #byPath: boolean
  #descriptor: number | undefined
  #base = ''
  #holds = 1
  /** Set when the folder is left for a while, to know it again. */
  #identity: BigIntStats | undefined
  #whyClosed = 'it is used after it was closed'

  constructor(open: Set<SourceFolder>, { path, realRoot, descriptor, above }: FolderPlace) {
    this.path = path
    this.#realRoot = realRoot
    this.#open = open
    this.#above = above
    this.#level = above === undefined ? 0 : above.#level + 1
    this.#byPath = descriptor === undefined
    if (descriptor !== undefined) this.#keep(descriptor)
  }

  /** What leads to a child, for a call that does not follow a final symlink. Throws when the folder is closed. */
  at(name: string): FilePath {
    return childFilePath(this.#addressed(), name)
  }

  /** The names in it, a character for each byte. Throws system errors. */
  latin1Names(): string[] {
    return readdirSync(this.#addressed(), { encoding: 'latin1' })
  }

  /** Opens a folder in it. Throws system errors, ENOTDIR for a symlink. */
  openChild(name: string): SourceFolder {
    const path = childFilePath(this.path, name)
    const descriptor = this.#byPath ? undefined : openSync(this.at(name), folderFlags | constants.O_NOFOLLOW)
    return new SourceFolder(this.#open, { path, realRoot: this.#realRoot, descriptor, above: this })
  }

  /** Whether the open file that the symlink `name` led to is below the folder where the walk began. Throws system errors. */
  leadsInside(name: string, descriptor: number): boolean {
    const real = realPath(this.#byPath ? this.at(name) : descriptor)
    return real.startsWith(this.#realRoot.endsWith(sep) ? this.#realRoot : this.#realRoot + sep)
  }

  hold(): void {
    this.#holds++
  }

  /** Ends one hold; with the last one the folder is closed. */
  release(): void {
    this.#holds--
    if (this.#holds === 0) this.close()
  }

  /** Ends the hold of a walk that waits in the folder above, when that is far down: few folders are open however deep a tree is. */
  leaveAbove(): void {
    const above = this.#farAbove
    if (above === undefined) return
    if (above.#descriptor !== undefined) above.#identity = fstatSync(above.#descriptor, { bigint: true })
    above.release()
  }

  /** Undoes `leaveAbove`. Where the folder was moved meanwhile, what is asked of the one above throws from now on. */
  returnAbove(): void {
    const above = this.#farAbove
    if (above === undefined) return
    above.#holds++
    if (above.#descriptor === undefined)
      above.#reopen(this.#descriptor === undefined ? undefined : this.#base)
  }

  close(): void {
    if (this.#descriptor === undefined) return
    const descriptor = this.#descriptor
    this.#descriptor = undefined
    this.#open.delete(this)
    closeSync(descriptor)
  }

  get #farAbove(): SourceFolder | undefined {
    return this.#byPath || this.#above === undefined || this.#above.#level < openLevels
      ? undefined
      : this.#above
  }

  #addressed(): FilePath {
    if (this.#byPath) return this.path
    if (this.#descriptor !== undefined) return this.#base
    throw new Error(this.#whyClosed)
  }

  #keep(descriptor: number): void {
    this.#descriptor = descriptor
    this.#base = descriptorPath(descriptor)
    this.#open.add(this)
  }

  #reopen(child: string | undefined): void {
    const descriptor = child === undefined ? undefined : openParent(child)
    if (descriptor !== undefined && isSame(this.#identity, descriptor)) this.#keep(descriptor)
    else {
      if (descriptor !== undefined) closeSync(descriptor)
      this.#whyClosed = 'it was moved while it was read'
    }
  }
}

/** Of what is open or of what the path leads to, without symlinks in it, a character for each byte. */
function realPath(of: number | FilePath): string {
  return typeof of === 'number'
    ? readlinkSync(descriptorPath(of), 'latin1')
    : realpathSync.native(of, 'latin1')
}

function descriptorPath(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`
}

/** A descriptor of the folder below which children can be addressed; undefined where there are none. */
function openAddressable(path: FilePath): number | undefined {
  const descriptor = openSync(path, folderFlags)
  try {
    if (isSame(statSync(`${descriptorPath(descriptor)}/.`, { bigint: true }), descriptor)) return descriptor
  } catch {
    // No /proc here, or not for this user.
  }
  closeSync(descriptor)
  return undefined
}

function openParent(child: string): number | undefined {
  try {
    return openSync(`${child}/..`, folderFlags)
  } catch {
    return undefined
  }
}

function isSame(stats: BigIntStats | undefined, descriptor: number): boolean {
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return stats?.dev === dev && stats.ino === ino
}

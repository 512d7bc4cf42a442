import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { RepoError } from '../errors/repo-error.ts'
import { nameProblem } from './entry-name.ts'

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** How children are reached: through the descriptor of their folder, or by its path, which is checked each time. */
export type Addressing = 'descriptor' | 'path'

/**
 * A folder held open, through which its children are reached one name at a time. No path through it crosses a symlink,
 * and the length of the folder's own path does not matter: on Linux a child is addressed below `/proc/self/fd`, which
 * is what `openat` does. Elsewhere it is addressed by the folder's path, after a check that this path still leads to
 * the folder that was opened.
 */
export class ContainedFolder {
  readonly device: bigint
  readonly inode: bigint
  readonly #path: string
  readonly #addressing: Addressing
  #fd: number | undefined

  private constructor(fd: number, path: string, addressing: Addressing) {
    const stats = fstatSync(fd, { bigint: true })
    this.#fd = fd
    this.#path = path
    this.#addressing = addressing
    this.device = stats.dev
    this.inode = stats.ino
  }

  /** Opens a folder that the caller trusts: symlinks in this path are followed. Throws what `open` throws. */
  static openTrusted(path: string, addressing?: Addressing): ContainedFolder {
    const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
    return adopt(fd, () => new ContainedFolder(fd, path, addressing ?? bestAddressing(fd)))
  }

  /** True when a path of `at` leads to the child for as long as the folder is open, whatever is moved meanwhile. */
  get holdsPaths(): boolean {
    return this.#addressing === 'descriptor'
  }

  get isOpen(): boolean {
    return this.#fd !== undefined
  }

  /** The descriptor. Throws when the folder is closed. */
  get fd(): number {
    if (this.#fd === undefined) throw new Error(`the folder ${this.#path} is used after it was closed`)
    return this.#fd
  }

  /**
   * A path of the child for one call that does not follow a final symlink. Throws UNSAFE_PATH for a name that is not
   * the name of a child, or when the folder's path leads elsewhere by now.
   */
  at(name: string | Buffer): string | Buffer {
    const reason = nameProblem(typeof name === 'string' ? name : name.toString('latin1'))
    if (reason !== undefined)
      throw unsafe(`${this.#path}: the name ${JSON.stringify(String(name))} is refused, ${reason}`)
    const base = this.#base()
    if (typeof name === 'string') return `${base}/${name}`
    return Buffer.concat([Buffer.from(`${base}/`), name])
  }

  /** What is there under this name, or undefined. Does not follow a symlink. */
  lstat(name: string | Buffer): BigIntStats | undefined {
    return lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false })
  }

  /** The names of all children as bytes. */
  names(): Buffer[] {
    return readdirSync(this.#base(), { encoding: 'buffer' })
  }

  /** Creates a child folder that only its owner can enter. Throws EEXIST when the name is taken. */
  makeFolder(name: string): void {
    mkdirSync(this.at(name), { mode: 0o700 })
  }

  /** Opens a child folder. Throws ENOTDIR or ELOOP when the name is anything else, a symlink to a folder included. */
  openFolder(name: string | Buffer): ContainedFolder {
    const fd = openSync(this.at(name), folderFlags)
    return adopt(fd, () => new ContainedFolder(fd, `${this.#path}/${name.toString()}`, this.#addressing))
  }

  /** Opens `parent` again through this child, when it was closed to save descriptors. */
  reopenParent(parent: ContainedFolder): void {
    if (parent.isOpen) return
    const up = this.#addressing === 'descriptor' ? `${descriptorPath(this.fd)}/..` : parent.#path
    const fd = openSync(up, folderFlags)
    adopt(fd, () => {
      const stats = fstatSync(fd, { bigint: true })
      if (stats.dev !== parent.device || stats.ino !== parent.inode) {
        throw unsafe(`${parent.#path} was moved while it was restored`)
      }
      parent.#fd = fd
    })
  }

  /** Closes the descriptor; closing twice is allowed. */
  close(): void {
    if (this.#fd === undefined) return
    const fd = this.#fd
    this.#fd = undefined
    closeSync(fd)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #base(): string {
    return this.#addressing === 'descriptor' ? descriptorPath(this.fd) : this.#checkedPath()
  }

  #checkedPath(): string {
    const stats = lstatSync(this.#path, { bigint: true, throwIfNoEntry: false })
    if (stats?.dev !== this.device || stats.ino !== this.inode) {
      const followed = statSync(this.#path, { bigint: true, throwIfNoEntry: false })
      if (followed?.dev !== this.device || followed.ino !== this.inode) {
        throw unsafe(`${this.#path} was replaced while it was restored`)
      }
    }
    return this.#path
  }
}

function descriptorPath(fd: number): string {
  return `/proc/self/fd/${fd}`
}

function bestAddressing(fd: number): Addressing {
  const there = statSync(`${descriptorPath(fd)}/.`, { throwIfNoEntry: false, bigint: true })
  const here = fstatSync(fd, { bigint: true })
  return there?.ino === here.ino && there.dev === here.dev ? 'descriptor' : 'path'
}

function adopt<T>(fd: number, use: () => T): T {
  try {
    return use()
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function unsafe(message: string): RepoError {
  return new RepoError('UNSAFE_PATH', {
    message,
    hint: 'restore into a folder that nobody else changes, and look at the snapshot with verify',
  })
}

import { closeSync, constants, fsync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants as system } from 'node:os'
import { getSystemErrorName, promisify } from 'node:util'
import { RepoError } from '../errors/repo-error.ts'

/** The call of that name for an open folder, beside other work: 0 or what is wrong, as in `os.constants.errno`. */
export type Syncfs = (fd: number) => Promise<number>

/**
 * A folder whose file system is to have on its device whatever is written from now on. Where `syncfs` cannot be called, as
 * outside of Linux, the folder itself is all that is waited for, and nothing on Windows, which syncs no folders.
 */
export class SyncedFolder implements Disposable {
  readonly #path: string
  readonly #fd: number | undefined
  readonly #syncfs: Syncfs | undefined

  private constructor(path: string, fd: number | undefined, syncfs: Syncfs | undefined) {
    this.#path = path
    this.#fd = fd
    this.#syncfs = syncfs
  }

  /** To be done before the first write. Symlinks in the path are followed. Throws what `open` throws. */
  static async open(path: string, syncfs = systemCall()): Promise<SyncedFolder> {
    if (process.platform === 'win32') return new SyncedFolder(path, undefined, undefined)
    const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
    // A descriptor is told of writes that failed since it was opened, and of older ones, of anybody, that were told to nobody yet.
    await syncfs?.(fd)
    return new SyncedFolder(path, fd, syncfs)
  }

  /** Waits until everything is on the device. Throws TARGET_FAILED where it was not taken. */
  async sync(): Promise<void> {
    if (this.#fd === undefined) return
    const errno = (await this.#syncfs?.(this.#fd)) ?? system.errno.ENOSYS
    if (errno === 0) return
    const isForbidden = errno === system.errno.EPERM || errno === system.errno.ENOSYS
    if (!isForbidden) throw this.#notTaken(`syncfs: ${getSystemErrorName(-errno)}`)
    await fsyncFolder(this.#fd).catch((cause: NodeJS.ErrnoException) => {
      if (!unsupported.includes(cause.code ?? '')) throw this.#notTaken(cause.message, cause)
    })
  }

  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
  }

  #notTaken(reason: string, cause?: Error): RepoError {
    return new RepoError('TARGET_FAILED', {
      message: `not everything that was written to ${this.#path} could be stored on its device: ${reason}`,
      hint: 'look at the device of the volume: it may be full or broken, and the kernel log of the node names it',
      path: this.#path,
      cause,
    })
  }
}

const fsyncFolder = promisify(fsync)

/** What file systems say that sync no folders. */
const unsupported = ['EINVAL', 'ENOTSUP']

let loaded: Syncfs | 'none' | undefined

function systemCall(): Syncfs | undefined {
  loaded ??= loadCall() ?? 'none'
  return loaded === 'none' ? undefined : loaded
}

function loadCall(): Syncfs | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi')
    const call = koffi.load(null).func('int syncfs(int fd)')
    return fd =>
      new Promise((resolve, reject) => {
        call.async(fd, (error: Error | null, result: number) => {
          if (error) reject(error)
          // What went wrong in the call's thread can be asked for in here only.
          else resolve(result === 0 ? 0 : koffi.errno())
        })
      })
  } catch {
    // No binary for this platform.
    return undefined
  }
}

import path from 'node:path'
import { RepoError } from '../../errors/repo-error.ts'
import { errnoOf } from '../filesystem-error.ts'
import { chown, lstat, mkdir, realpath, unlessMissing } from './calls.ts'
import { syncFolder } from './folder-sync.ts'
import { giveAway, type Owner } from './owner.ts'

const folderMode = 0o700

/** Makes the root of a repository, if it is not there. */
export async function makeRoot(folder: string, durable: boolean): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: folderMode }).catch(error => {
    // On a disk that is mounted read-only, making nested folders fails with a misleading code; one folder tells the truth.
    if (errnoOf(error) !== 'ENOENT') throw error
    return mkdir(folder, folderMode).then(() => folder)
  })
  if (first !== undefined && durable) await syncFolder(path.dirname(first))
}

/** The folder without symbolic links on the way to it. Throws `NOT_A_REPOSITORY` when there is none. */
export async function realRoot(folder: string): Promise<string> {
  const real = await unlessMissing(realpath(folder))
  if (real !== undefined && (await lstat(real)).isDirectory()) return real
  throw new RepoError('NOT_A_REPOSITORY', {
    message: `There is no repository in ${folder}: ${real === undefined ? 'the folder does not exist' : 'it is no folder'}`,
    hint: 'Check the path and whether the disk is mounted, or create the repository first.',
    path: folder,
  })
}

/** The folders of blobs below a root: real ones, no symbolic links to elsewhere. */
export class RealFolders {
  readonly #root: string
  readonly #sync: (folder: string) => Promise<void>
  readonly #owner: Owner | undefined
  readonly #seen = new Set<string>()

  /** `owner`: whom new folders are given to. */
  constructor(root: string, sync: (folder: string) => Promise<void>, owner?: Owner) {
    this.#root = root
    this.#sync = sync
    this.#owner = owner
  }

  /** Throws `ENOENT` when one of nested folders is missing, `ELOOP` or `ENOTDIR` when one is something else. */
  async check(folders: readonly string[]): Promise<void> {
    const innermost = path.join(this.#root, ...folders)
    if (this.#seen.has(innermost)) return
    for (let depth = 1; depth <= folders.length; depth++) {
      await requireRealFolder(path.join(this.#root, ...folders.slice(0, depth)))
    }
    this.#seen.add(innermost)
  }

  /** Makes nested folders, of which some may be there. */
  async make(folders: readonly string[]): Promise<void> {
    for (let depth = 1; depth <= folders.length; depth++) {
      const folder = path.join(this.#root, ...folders.slice(0, depth))
      const made = await mkdir(folder, folderMode).then(
        () => true,
        error => {
          if (errnoOf(error) === 'EEXIST') return false
          throw error
        },
      )
      if (made) await this.#made(folder)
    }
    await this.check(folders)
  }

  async #made(folder: string): Promise<void> {
    const owner = this.#owner
    if (owner !== undefined) await giveAway(() => chown(folder, owner.uid, owner.gid))
    await this.#sync(path.dirname(folder))
  }

  /** What was seen may be gone. */
  forget(): void {
    this.#seen.clear()
  }
}

async function requireRealFolder(folder: string): Promise<void> {
  const stats = await lstat(folder)
  if (stats.isDirectory()) return
  const code = stats.isSymbolicLink() ? 'ELOOP' : 'ENOTDIR'
  throw Object.assign(new Error(`${code}: ${folder} is not a folder`), { code })
}

import type { ContainedFolder } from './contained-folder.ts'
import type { DirectoryEntry } from './directory.ts'
import type { EntryPath } from './entry-name.ts'
import type { AttributeSetter } from './restore-attributes.ts'
import type { RestoreReport } from './restore-report.ts'

/** A folder of the target that is being filled. */
export interface RestoredFolder {
  readonly folder: ContainedFolder
  readonly entry: DirectoryEntry
  readonly path: EntryPath | undefined
  /** True when something was in it before the restore. */
  readonly existed: boolean
  /** The names that the snapshot has in it. */
  names: ReadonlySet<string>
}

interface Link extends RestoredFolder {
  readonly parent: Link | undefined
  /** Folders below it that are not finished, and one for the walk while it is in or below this folder. */
  holds: number
  /** Files that are being written into it. */
  jobs: number
  /** Closed, or to be closed after its jobs, because the walk is far below. */
  parked: boolean
}

// Folders of the way down that stay open; those further up are opened again through `..` when the walk returns.
const openLevels = 64

/**
 * The folders between the target and the place where the walk is, and those it has left whose files are still being
 * written. A folder gets its attributes when the last thing in it is done, since every change in it would touch its time.
 * Descriptors stay few whatever the depth.
 */
export class RestoredFolders {
  readonly #attributes: AttributeSetter
  readonly #report: RestoreReport
  readonly #way: Link[] = []
  readonly #unfinished = new Set<Link>()

  constructor(attributes: AttributeSetter, report: RestoreReport) {
    this.#attributes = attributes
    this.#report = report
  }

  /** The folder where the walk is. Throws before the first `enter`. */
  get current(): RestoredFolder {
    return this.#top()
  }

  /** Goes down into a folder that was opened in the current one. */
  enter(folder: Omit<RestoredFolder, 'names'>): void {
    const parent = this.#way.at(-1)
    if (parent !== undefined) parent.holds++
    const link: Link = { ...folder, names: new Set(), parent, holds: 1, jobs: 0, parked: false }
    this.#way.push(link)
    this.#unfinished.add(link)
    const far = this.#way.at(-1 - openLevels)
    if (far !== undefined) park(far)
  }

  /** Goes up until `depth` folders are above the walk; folders that are left finish when their files are written. */
  returnTo(depth: number): void {
    while (this.#way.length > depth) {
      const left = this.#way.pop() as Link
      if (left.parent !== undefined) {
        left.folder.reopenParent(left.parent.folder)
        left.parent.parked = false
      }
      left.holds--
      this.#finishWhenDone(left)
    }
  }

  /** Runs a job that writes into the current folder, which stays open meanwhile. */
  job(work: (folder: RestoredFolder) => Promise<void>): () => Promise<void> {
    const link = this.#top()
    link.jobs++
    return async () => {
      try {
        await work(link)
      } finally {
        link.jobs--
        if (link.parked) park(link)
        this.#finishWhenDone(link)
      }
    }
  }

  /** Closes everything; for the end of a restore that failed. */
  close(): void {
    for (const link of this.#unfinished) link.folder.close()
    this.#unfinished.clear()
  }

  #top(): Link {
    const top = this.#way.at(-1)
    if (top === undefined) throw new Error('no folder was entered')
    return top
  }

  #finishWhenDone(from: Link): void {
    let link: Link | undefined = from
    while (link !== undefined && link.holds === 0 && link.jobs === 0 && this.#unfinished.delete(link)) {
      const { parent }: Link = link
      this.#setAttributes(link)
      if (parent !== undefined) {
        parent.holds--
        if (parent.holds === 0 && parent.jobs === 0) link.folder.reopenParent(parent.folder)
      }
      link.folder.close()
      link = parent
    }
  }

  #setAttributes(link: Link): void {
    try {
      this.#attributes.setOpen(link.folder.fd, link.entry)
      this.#report.count('folders')
    } catch (error) {
      this.#report.fail(link.path, error)
    }
  }
}

function park(link: Link): void {
  link.parked = true
  if (link.jobs === 0) link.folder.close()
}

import type { GoTime } from '../go-json/go-time.ts'
import {
  type DirectoryEntry,
  type DirectorySummary,
  type FailedEntry,
  maxFailedEntries,
} from './directory.ts'
import { compareNames } from './name.ts'

/** Collects the entries of one directory in any order and sums them up. */
export class DirectoryBuilder {
  readonly #entries: DirectoryEntry[] = []
  readonly #failed: FailedEntry[] = []
  readonly #summary = {
    size: 0,
    files: 0,
    symlinks: 0,
    dirs: 0,
    maxTime: 0n,
    numFailed: 0,
    numIgnoredErrors: 0,
  }

  /** A builder with the same entries, to which others may be added. */
  clone(): DirectoryBuilder {
    const copy = new DirectoryBuilder()
    copy.#entries.push(...this.#entries)
    copy.#failed.push(...this.#failed)
    Object.assign(copy.#summary, this.#summary)
    return copy
  }

  add(entry: DirectoryEntry): void {
    const summary = this.#summary
    this.#entries.push(entry)
    if (entry.mtime > summary.maxTime) summary.maxTime = entry.mtime
    if (entry.type === 's') summary.symlinks++
    if (entry.type === 'f') {
      summary.files++
      summary.size += entry.size
    }
    if (entry.type === 'd' && entry.summary) this.#addSummary(entry.summary)
  }

  addFailure(failed: FailedEntry, ignored: boolean): void {
    if (ignored) this.#summary.numIgnoredErrors++
    else this.#summary.numFailed++
    this.#noteFailures([failed])
  }

  /** The finished directory, its entries in any order. `mtime` is the directory's own and counts only when it is empty. */
  build(mtime: GoTime, incomplete?: string): { entries: DirectoryEntry[]; summary: DirectorySummary } {
    const { size, files, symlinks, dirs, maxTime, numFailed, numIgnoredErrors } = this.#summary
    const summary: DirectorySummary = {
      size,
      files,
      symlinks,
      dirs: dirs + 1,
      maxTime: this.#entries.length === 0 ? mtime : maxTime,
      ...(incomplete !== undefined && { incomplete }),
      numFailed,
      numIgnoredErrors,
      errors: [...this.#failed],
    }
    return { entries: [...this.#entries], summary }
  }

  #addSummary(child: DirectorySummary): void {
    const summary = this.#summary
    summary.size += child.size
    summary.files += child.files
    summary.symlinks += child.symlinks
    summary.dirs += child.dirs
    summary.numFailed += child.numFailed
    summary.numIgnoredErrors += child.numIgnoredErrors
    if (child.maxTime > summary.maxTime) summary.maxTime = child.maxTime
    this.#noteFailures(child.errors)
  }

  #noteFailures(failed: readonly FailedEntry[]): void {
    if (failed.length === 0) return
    this.#failed.push(...failed)
    this.#failed.sort((a, b) => compareNames(a.path, b.path))
    this.#failed.splice(maxFailedEntries)
  }
}

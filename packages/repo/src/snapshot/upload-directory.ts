import type { ObjectId } from '../object/object-id.ts'
import { ActiveDirectory } from './checkpoint.ts'
import type { DirectoryEntry } from './directory.ts'
import { directoryEntryOf, fileEntryOf } from './entry-of-source.ts'
import type { Policy } from './policy.ts'
import { childPolicies } from './policy-tree.ts'
import {
  findUnchanged,
  openPrevious,
  type PreviousDirectory,
  previousChildren,
} from './previous-directories.ts'
import type { FileOutcome } from './small-files.ts'
import { storeDirectory } from './store-directory.ts'
import {
  fileWriteOptions,
  readSmallFile,
  type StoredFile,
  smallFileLimit,
  uploadLargeFile,
} from './upload-file.ts'
import { type UploadRun, UploadStopped } from './upload-run.ts'
import { hasVanished, readSymlink, type SourceEntry, SourceReadError } from './walk/source-entry.ts'
import {
  type DirectoryVisit,
  includedEntries,
  type VisitedDirectory,
  visitDirectory,
} from './walk/visit-directory.ts'

/** A directory to upload. */
export interface DirectoryTask extends DirectoryVisit {
  /** The objects of the same directory in earlier snapshots. */
  previous: readonly ObjectId[]
  active: ActiveDirectory
  /** The walk of the folder that it is in waits for this one. */
  isAwaited: boolean
}

/** A directory whose entries were all looked at, and its entry as soon as they are stored. */
interface WalkedDirectory {
  completed: DirectoryEntry | Promise<DirectoryEntry>
}

/**
 * Uploads a directory and all below it, and returns its entry. Where the upload is stopped on purpose, the entry
 * holds what was finished. Throws SourceReadError when the directory itself cannot be read, else what the repository
 * throws.
 */
export async function uploadDirectory(run: UploadRun, task: DirectoryTask): Promise<DirectoryEntry> {
  const { completed } = await walkDirectory(run, task)
  return completed
}

/** The walk does not wait for files that are in the threads: it goes on to find more for them. */
async function walkDirectory(run: UploadRun, task: DirectoryTask): Promise<WalkedDirectory> {
  using _ = run.files.walking()
  const folder = await visit(run, task)
  run.stats.dirCount++
  run.progress.counts.directories++
  if (folder.isCache) noteExcluded(run, task.entry)
  const previous = await openPrevious(run, task.previous)
  const uploader = new EntryUploader(run, folder, { active: task.active, previous })
  const { source } = folder
  if (task.isAwaited) source.leaveAbove()
  try {
    await uploader.walk()
  } finally {
    if (task.isAwaited) source.returnAbove()
    source.release()
  }
  const store = () => completeDirectory(run, task, previous)
  return { completed: uploader.isSettled ? await store() : uploader.settled().then(store) }
}

/** What the folder is in stays open until the folder itself is, wherever the walk is by then. */
async function visit(run: UploadRun, task: DirectoryTask): Promise<VisitedDirectory> {
  const above = task.entry.folder
  above?.hold()
  try {
    // Without this the stack would be as deep as the tree.
    await run.breathe()
    return visitDirectory(task, run.folders)
  } finally {
    above?.release()
  }
}

async function completeDirectory(
  run: UploadRun,
  { entry, active }: DirectoryTask,
  previous: readonly PreviousDirectory[],
): Promise<DirectoryEntry> {
  try {
    run.check()
  } catch (error) {
    if (!(error instanceof UploadStopped)) throw error
  }
  const { obj, summary } = await storeDirectory(
    run,
    active.builder.build(entry.mtime, run.incomplete),
    previous,
  )
  return directoryEntryOf(entry, obj, summary)
}

/** Uploads the entries of one directory. */
class EntryUploader {
  readonly #run: UploadRun
  readonly #folder: VisitedDirectory
  readonly #active: ActiveDirectory
  readonly #previous: readonly PreviousDirectory[]
  readonly #pending = new Set<Promise<void>>()
  #inThreads = 0
  #onLanded: () => void = () => {}

  constructor(
    run: UploadRun,
    folder: VisitedDirectory,
    state: { active: ActiveDirectory; previous: readonly PreviousDirectory[] },
  ) {
    this.#run = run
    this.#folder = folder
    this.#active = state.active
    this.#previous = state.previous
  }

  /** Looks at all entries. What is not stored by then is awaited with `settled`. */
  async walk(): Promise<void> {
    const run = this.#run
    try {
      for (const entry of includedEntries(this.#folder, excluded => noteExcluded(run, excluded))) {
        run.check()
        const done = this.#upload(entry)
        if (done !== undefined) await done
        if (run.pace.due) await run.breathe()
      }
    } catch (error) {
      if (!(error instanceof SourceReadError)) return run.fail(error)
      using _ = run.files.awaiting()
      await this.settled()
      throw error
    }
  }

  /** True when nothing of this directory is in work any more. */
  get isSettled(): boolean {
    return this.#pending.size === 0 && this.#inThreads === 0
  }

  async settled(): Promise<void> {
    while (!this.isSettled) {
      await Promise.all(this.#pending)
      if (this.#inThreads > 0) await new Promise<void>(resolve => (this.#onLanded = resolve))
    }
  }

  #upload(entry: SourceEntry): Promise<void> | undefined {
    if (entry.kind === 'directory')
      return this.#share(isAwaited => this.#uploadSubdirectory(entry, isAwaited))
    if (entry.kind === 'other') return this.#skip(entry)
    const unchanged = this.#run.settings.rereadAll ? undefined : findUnchanged(this.#previous, entry)
    if (unchanged === undefined) return this.#store(entry)
    const kept = this.#run.kept.ask(unchanged)
    if (kept === true) return this.#reuse(entry, unchanged)
    if (kept === false) return this.#store(entry)
    return this.#share(async () => {
      this.#folder.source.hold()
      try {
        await ((await kept) ? this.#reuse(entry, unchanged) : this.#store(entry))
      } finally {
        this.#folder.source.release()
      }
    })
  }

  #store(entry: SourceEntry): Promise<void> | undefined {
    const { effective: policy } = childPolicies(this.#folder.policies, entry.name)
    if (entry.kind === 'file') this.#run.stats.nonCachedFiles++
    if (entry.kind === 'symlink' || entry.size <= smallFileLimit) return this.#uploadSmall(entry, policy)
    return this.#share(() => this.#uploadLarge(entry, policy))
  }

  /** Leaves the file to a thread. Where the upload ends before, the thread may still read: the folder stays open then. */
  #queue(entry: SourceEntry, policy: Policy): Promise<void> | undefined {
    this.#inThreads++
    this.#folder.source.hold()
    return this.#run.files.add({
      entry,
      options: fileWriteOptions(this.#run, entry, policy),
      settle: outcome => {
        try {
          this.#land(entry, policy, outcome)
        } catch (error) {
          this.#run.fail(error)
        }
        if (outcome !== undefined) this.#folder.source.release()
        this.#inThreads--
        if (this.#inThreads === 0) this.#onLanded()
      },
    })
  }

  #land(entry: SourceEntry, policy: Policy, outcome: FileOutcome): void {
    if (outcome === undefined) return
    if (outcome === 'grown') this.#pend(this.#uploadLarge(entry, policy))
    else if ('error' in outcome) this.#noteUnreadable(entry, outcome.error)
    else this.#add(entry, outcome.stored)
  }

  #uploadSmall(entry: SourceEntry, policy: Policy): Promise<void> | undefined {
    const { threads } = this.#run
    const splitter = policy.splitter.algorithm || undefined
    if (entry.kind === 'file' && threads.wanted(entry.size, splitter) && threads.started) {
      return this.#queue(entry, policy)
    }
    try {
      const bytes = entry.kind === 'symlink' ? readSymlink(entry) : readSmallFile(entry)
      if (!bytes) return this.#share(() => this.#uploadLarge(entry, policy))
      const size = bytes.length
      const options =
        entry.kind === 'symlink' ? { signal: this.#run.signal } : fileWriteOptions(this.#run, entry, policy)
      const obj = this.#run.small.put(bytes, options)
      this.#run.progress.counts.bytesRead += size
      if (typeof obj === 'string') return this.#add(entry, { obj, size })
      return obj.then(stored => this.#add(entry, { obj: stored, size }))
    } catch (error) {
      return this.#noteUnreadable(entry, error)
    }
  }

  async #uploadLarge(entry: SourceEntry, policy: Policy): Promise<void> {
    const { source } = this.#folder
    this.#run.progress.counts.path = this.#pathOf(entry)
    source.hold()
    try {
      this.#add(entry, await uploadLargeFile(this.#run, { entry, policy, active: this.#active }))
      source.release()
    } catch (error) {
      if (error instanceof SourceReadError) source.release()
      this.#noteUnreadable(entry, error)
    }
  }

  async #uploadSubdirectory(entry: SourceEntry, isAwaited: boolean): Promise<void> {
    const run = this.#run
    const policies = childPolicies(this.#folder.policies, entry.name)
    const relativePath = `${this.#folder.relativePath}/${entry.name}`
    const previous = previousChildren(this.#previous, entry.name)
    const { ignoring } = this.#folder
    const active = new ActiveDirectory(entry)
    run.progress.counts.path = this.#pathOf(entry)
    this.#active.children.add(active)
    const added = async (completed: WalkedDirectory['completed']) => {
      this.#active.builder.add(await completed)
      this.#active.children.delete(active)
    }
    try {
      const { completed } = await walkDirectory(run, {
        entry,
        relativePath,
        policies,
        ignoring,
        previous,
        active,
        isAwaited,
      })
      if (completed instanceof Promise) this.#pend(added(completed))
      else await added(completed)
    } catch (error) {
      this.#active.children.delete(active)
      if (hasVanished(entry, error)) return this.#noteVanished(entry)
      const ignored = policies.effective.errorHandling.ignoreDirectoryErrors ?? false
      run.noteFailure({ error, path: this.#pathOf(entry), ignored }, this.#active.builder)
    }
  }

  #reuse(entry: SourceEntry, obj: ObjectId): undefined {
    const { stats, progress } = this.#run
    stats.cachedFiles++
    stats.totalSize += entry.size
    progress.counts.filesCached++
    progress.counts.bytesCached += entry.size
    this.#active.builder.add(fileEntryOf(entry, { obj, size: entry.size }))
  }

  #add(entry: SourceEntry, stored: StoredFile): undefined {
    const { stats, progress } = this.#run
    progress.counts.filesRead++
    if (entry.kind === 'file') {
      stats.fileCount++
      stats.totalSize += stored.size
    }
    this.#active.builder.add(fileEntryOf(entry, stored))
  }

  #skip(entry: SourceEntry): undefined {
    const run = this.#run
    const ignored = this.#folder.policies.effective.errorHandling.ignoreUnknownTypes ?? true
    const path = this.#pathOf(entry)
    run.progress.counts.skipped++
    if (ignored) run.settings.log.debug({ path }, 'skipped a device, fifo or socket')
    else {
      const error = new SourceReadError(entry.path, 'devices, fifos and sockets cannot be stored')
      run.noteFailure({ error, path, ignored: false }, this.#active.builder)
    }
  }

  #noteUnreadable(entry: SourceEntry, error: unknown): undefined {
    if (hasVanished(entry, error)) return this.#noteVanished(entry)
    const ignored = this.#folder.policies.effective.errorHandling.ignoreFileErrors ?? false
    this.#run.noteFailure({ error, path: this.#pathOf(entry), ignored }, this.#active.builder)
  }

  #noteVanished(entry: SourceEntry): undefined {
    this.#run.progress.counts.skipped++
    this.#run.settings.log.debug({ path: this.#pathOf(entry) }, 'an entry vanished before it could be read')
  }

  // On a helper when one is free: undefined then, and errors end the run. Otherwise here and now.
  #share(task: (isAwaited: boolean) => Promise<void>): Promise<void> | undefined {
    const started = this.#run.work.tryStart(() => task(false))
    if (started === undefined) return task(true)
    return this.#pend(started)
  }

  /** Counts work of this directory that goes on beside the walk; its errors end the run. */
  #pend(work: Promise<void>): undefined {
    const pending = work
      .catch(error => this.#run.fail(error))
      .finally(() => {
        this.#pending.delete(pending)
      })
    this.#pending.add(pending)
  }

  #pathOf(entry: SourceEntry): string {
    return `${this.#folder.relativePath}/${entry.name}`.slice(1)
  }
}

function noteExcluded(run: UploadRun, entry: SourceEntry): void {
  const { counts } = run.progress
  if (entry.kind === 'directory') {
    run.stats.excludedDirCount++
    counts.excludedDirectories++
    return
  }
  run.stats.excludedFileCount++
  run.stats.excludedTotalSize += entry.size
  counts.excludedFiles++
  counts.excludedBytes += entry.size
}

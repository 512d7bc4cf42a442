import { fchmodSync, fstatSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import type { ContentStore } from '../content/content-store.ts'
import { RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { ContainedFolder } from './contained-folder.ts'
import { decideOverwrite } from './decide-overwrite.ts'
import type { DirectoryEntry } from './directory.ts'
import { childPath, siftEntries } from './entry-name.ts'
import { type TimeSetter, timeSetter } from './exact-times.ts'
import { nameFromBytes, storedName } from './name.ts'
import { removeContained } from './remove-contained.ts'
import { type AttributeOptions, attributeSetter } from './restore-attributes.ts'
import {
  existingAt,
  isForWriter,
  type RestoreContext,
  type RestorePlace,
  refusal,
  restoreFileEntry,
  restoreSymlinkEntry,
} from './restore-file.ts'
import { type RestoreProgress, RestoreReport, type RestoreResult } from './restore-report.ts'
import { RestoreWriter } from './restore-writer.ts'
import { type RestoredFolder, RestoredFolders } from './restored-folders.ts'
import { SyncedFolder } from './synced-folder.ts'
import { TaskPool } from './task-pool.ts'
import { type WalkedEntry, walkSnapshot } from './walk-snapshot.ts'

/** What is restored, where to and how. */
export interface RestoreTreeOptions extends Partial<AttributeOptions> {
  contents: ContentStore
  /** The root of a snapshot, or any entry below it (see `findEntry`). */
  entry: DirectoryEntry
  /**
   * The folder that becomes the entry, made when missing; for a file or symlink, the path it gets. Symlinks in this path
   * are followed: it is the caller's. Below it none ever is.
   */
  target: string
  /** What may be replaced; everything unless told. */
  overwrite?: { files?: boolean; symlinks?: boolean; folders?: boolean }
  /** Removes what is in the target and not in the snapshot. */
  deleteExtra?: boolean
  skipUnchanged?: boolean
  sparse?: boolean
  /** Files written at the same time; 16 unless told. */
  parallel?: number
  /** Threads that make small files; unless told, 2 for a tree of many files and none for others. */
  threads?: number
  /** Waits until the target's device has everything. Throws TARGET_FAILED when it does not take it. */
  sync?: boolean
  /** Stops at the first entry that fails, by throwing its error. */
  failFast?: boolean
  times?: boolean
  timeSetter?: TimeSetter
  onProgress?: (progress: Readonly<RestoreProgress>) => void
  signal?: AbortSignal | undefined
}

// Chunks are 8 MiB at most by default; a task holds one sealed and one open.
const heaviestTask = 16 << 20
const weightLimit = 64 << 20
const smallWeightLimit = 16 << 20
const worthThreads = 500

// Until it gets the entry's.
const newFolderMode = 0o700

/**
 * Restores a tree, a subtree or a single file. Nothing is written outside the target, whatever the snapshot holds. An
 * entry that cannot be restored is listed in the result and does not keep others from being restored. Throws CANCELLED,
 * TARGET_FAILED when the target itself cannot be used or is full, STORAGE_FAILED when the storage does not answer.
 */
export async function restoreTree(options: RestoreTreeOptions): Promise<RestoreResult> {
  const context = restoreContext(options)
  throwIfCancelled(options.signal)
  using synced = options.sync ? await openSynced(options) : undefined
  if (options.entry.type === 'd') await restoreFolderTree(options, context)
  else await restoreSingleEntry(options, context)
  await synced?.sync()
  return context.report.result()
}

async function restoreFolderTree(options: RestoreTreeOptions, given: RestoreContext): Promise<void> {
  await using writer = startWriter(options, given.report)
  const context = { ...given, writer }
  const folders = new RestoredFolders(context.attributes, context.report)
  const pools = startPools(options)
  const refused = new Set<DirectoryEntry>()
  const walk = walkSnapshot(context.contents, options.entry, {
    signal: options.signal,
    skip: entry => refused.has(entry),
    select: (directory, entries) => admitEntries(context, folders.current, { directory, entries }),
    onDirectoryError: ({ path }, error) => context.report.fail(path, error),
  })
  try {
    for await (const walked of walk) {
      folders.returnTo(walked.depth)
      if (walked.depth === 0) folders.enter(openTarget(options, walked))
      else if (walked.entry.type === 'd') enterFolder(context, folders, { walked, refused })
      else await startEntry(context, walked, { folders, pools })
    }
    folders.returnTo(0)
    await Promise.all([pools.large.drain(), pools.small.drain()])
    // Small files may all be on their way when a wish to stop comes, and are finished then.
    throwIfCancelled(options.signal)
  } finally {
    await Promise.all([pools.large.settle(), pools.small.settle()])
    folders.close()
  }
}

interface RestorePools {
  /** Files that a writer makes: many wait for it at once, so that neighbours in a pack are read together. */
  small: TaskPool
  large: TaskPool
}

function startPools({ parallel = 16 }: RestoreTreeOptions): RestorePools {
  return {
    small: new TaskPool({ tasks: 16 * parallel, weight: smallWeightLimit }),
    large: new TaskPool({ tasks: parallel, weight: weightLimit }),
  }
}

/** Threads are worth their start for many files only, and a time setter of the caller's cannot go there. */
function startWriter(options: RestoreTreeOptions, report: RestoreReport): RestoreWriter | undefined {
  const { entry, timeSetter: ownSetter } = options
  const threads = options.threads ?? ((entry.summary?.files ?? 0) < worthThreads ? 0 : 2)
  if (threads === 0 || ownSetter !== undefined) return undefined
  const attributes = attributeOptions(options)
  return new RestoreWriter({ threads, attributes, note: text => report.note(text) })
}

function attributeOptions(options: RestoreTreeOptions): AttributeOptions {
  const { owners = true, permissions = true, times = true, ignorePermissionErrors = true } = options
  return { owners, permissions, times, ignorePermissionErrors }
}

async function restoreSingleEntry(options: RestoreTreeOptions, context: RestoreContext): Promise<void> {
  const target = path.resolve(options.target)
  const entry = { ...options.entry, name: path.basename(target) }
  let place: RestorePlace
  try {
    mkdirSync(path.dirname(target), { recursive: true })
    const folder = ContainedFolder.openTrusted(path.dirname(target))
    place = { folder, mayExist: true, temporaryName: temporaryNames(folder, new Set([entry.name])) }
  } catch (cause) {
    throw targetFailed(options.target, cause)
  }
  using _ = place.folder
  await restoreEntry(context, { entry, path: childPath(undefined, options.entry.name), depth: 0 }, place)
}

function restoreContext(options: RestoreTreeOptions): RestoreContext {
  const summary = options.entry.summary
  const report = new RestoreReport(summary && { files: summary.files, bytes: summary.size }, {
    failFast: options.failFast ?? false,
    onProgress: options.onProgress,
  })
  const { files = true, symlinks = true, folders = true } = options.overwrite ?? {}
  return {
    contents: options.contents,
    rules: { files, symlinks, folders, deleteExtra: options.deleteExtra ?? false },
    attributes: attributeSetter(attributeOptions(options), options.timeSetter ?? timeSetter(), text =>
      report.note(text),
    ),
    report,
    sparse: options.sparse ?? false,
    skipUnchanged: options.skipUnchanged ?? false,
    writer: undefined,
    signal: options.signal,
  }
}

function openTarget(
  options: RestoreTreeOptions,
  { entry, path: place }: WalkedEntry,
): Omit<RestoredFolder, 'names'> {
  try {
    mkdirSync(options.target, { recursive: true, mode: newFolderMode })
    const folder = ContainedFolder.openTrusted(options.target)
    const existed = folder.names().length > 0
    if (options.overwrite?.folders === false && existed) {
      folder.close()
      throw refusal('folder')
    }
    letOwnerWrite(folder)
    return { folder, entry, path: place, existed }
  } catch (cause) {
    throw targetFailed(options.target, cause)
  }
}

function admitEntries(
  context: RestoreContext,
  folder: RestoredFolder,
  read: { directory: WalkedEntry; entries: DirectoryEntry[] },
): DirectoryEntry[] {
  const { good, bad } = siftEntries(read.entries)
  for (const { entry, reason } of bad) {
    const error = new RepoError('UNSAFE_PATH', {
      message: `the name is refused: ${reason}`,
      hint: 'the snapshot was not made by a file system; restore the other entries and look where it came from',
    })
    context.report.fail(childPath(read.directory.path, entry.name), error)
  }
  folder.names = new Set(good.map(({ name }) => storedName(name)))
  if (context.rules.deleteExtra && folder.existed) deleteExtraEntries(context, folder)
  return good
}

function deleteExtraEntries(context: RestoreContext, { folder, names, path: place }: RestoredFolder): void {
  for (const bytes of folder.names()) {
    const name = nameFromBytes(bytes)
    if (names.has(name)) continue
    try {
      context.report.count('deleted', removeContained(folder, bytes, context.signal))
    } catch (error) {
      context.report.fail(childPath(place, name), error)
    }
  }
}

function enterFolder(
  context: RestoreContext,
  folders: RestoredFolders,
  at: { walked: WalkedEntry; refused: Set<DirectoryEntry> },
): void {
  const { entry, path: place } = at.walked
  const parent = folders.current
  const name = storedName(entry.name)
  try {
    const existing = parent.existed ? existingAt(parent.folder, name).kind : 'nothing'
    const placement = decideOverwrite('folder', existing, context.rules)
    if (placement === 'refuse') throw refusal(existing)
    if (placement === 'replace') removeContained(parent.folder, name, context.signal)
    if (placement !== 'merge') parent.folder.makeFolder(name)
    const folder = parent.folder.openFolder(name)
    if (placement === 'merge') letOwnerWrite(folder)
    folders.enter({ folder, entry, path: place, existed: placement === 'merge' })
  } catch (error) {
    at.refused.add(entry)
    context.report.fail(place, error)
  }
}

async function startEntry(
  context: RestoreContext,
  walked: WalkedEntry,
  run: { folders: RestoredFolders; pools: RestorePools },
): Promise<void> {
  const job = run.folders.job(({ folder, existed, names }) =>
    restoreEntry(context, walked, {
      folder,
      mayExist: existed,
      temporaryName: temporaryNames(folder, names),
    }),
  )
  const { folder, existed: mayExist } = run.folders.current
  const pool = isForWriter(context, walked.entry, { folder, mayExist }) ? run.pools.small : run.pools.large
  await pool.start(Math.min(heaviestTask, Math.max(walked.entry.size, 4096) * 2), job)
}

async function restoreEntry(
  context: RestoreContext,
  { entry, path: place }: WalkedEntry,
  to: RestorePlace,
): Promise<void> {
  try {
    throwIfCancelled(context.signal)
    if (entry.type === 'f') await restoreFileEntry(context, entry, to)
    else if (entry.type === 's') await restoreSymlinkEntry(context, entry, to)
    else throw new RepoError('UNSUPPORTED_FORMAT', { message: 'its kind is unknown' })
  } catch (error) {
    context.report.fail(place, error)
  }
}

function temporaryNames(folder: ContainedFolder, taken: ReadonlySet<string>): () => string {
  return () => {
    for (let n = 0; ; n++) {
      const name = `.lateen-restore-${n}`
      if (!taken.has(name) && folder.lstat(name) === undefined) return name
    }
  }
}

function letOwnerWrite({ fd }: ContainedFolder): void {
  const mode = fstatSync(fd).mode & 0o7777
  if ((mode & 0o700) !== 0o700) fchmodSync(fd, mode | 0o700)
}

async function openSynced({ entry, target }: RestoreTreeOptions): Promise<SyncedFolder> {
  try {
    const isFolder = entry.type === 'd'
    const folder = isFolder ? target : path.dirname(path.resolve(target))
    mkdirSync(folder, { recursive: true, ...(isFolder && { mode: newFolderMode }) })
    return await SyncedFolder.open(folder)
  } catch (cause) {
    throw targetFailed(target, cause)
  }
}

function targetFailed(target: string, cause: unknown): RepoError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new RepoError('TARGET_FAILED', {
    message: `cannot restore to ${target}: ${reason}`,
    hint: 'name a folder that exists or can be made, and that you may write to',
    path: target,
    cause,
  })
}

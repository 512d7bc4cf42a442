import type { ContentStore } from '../content/content-store.ts'
import { corrupt, isRepoError, RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import type { ContentId } from '../index-format/content-id.ts'
import type { ManifestStore } from '../manifest/manifest-store.ts'
import { type ObjectId, objectId, parseObjectId } from '../object/object-id.ts'
import { chunksOf } from '../object/object-reader.ts'
import type { DirectoryEntry } from '../snapshot/directory.ts'
import { type EntryPath, formatEntryPath } from '../snapshot/entry-name.ts'
import { listSnapshots } from '../snapshot/list-snapshots.ts'
import type { SnapshotManifest } from '../snapshot/snapshot-manifest.ts'
import { walkSnapshot } from '../snapshot/walk-snapshot.ts'
import { UsedContents } from './used-contents.ts'
import type { VerifyOptions } from './verified-repository.ts'
import type { BadContents } from './verify-contents.ts'
import { isFinding, type VerifyReport } from './verify-report.ts'

/** What a walk over snapshots looks for and tells. */
export interface SnapshotsRun {
  bad: BadContents
  report: VerifyReport
  options: VerifyOptions
  /** Collects every content that the snapshots need. */
  used?: UsedContents
}

/** What walking needs of a repository. */
export interface WalkedRepository {
  contents: ContentStore
  /** Should leave damaged contents out and list them, so that the other snapshots are seen. */
  manifests: ManifestStore
}

/**
 * Walks every snapshot and checks that all contents of all files, symlinks and directories are there and not among the bad
 * ones. What several snapshots share is walked once when it is good, and named for each of them when it is not.
 */
export async function verifySnapshots(repository: WalkedRepository, run: SnapshotsRun): Promise<void> {
  const { manifests } = repository
  const { signal, snapshots: wanted } = run.options
  const { snapshots, unreadable } = await listSnapshots(manifests, { signal })
  for (const error of manifests.damaged) {
    run.report.add({ what: 'manifest', contentId: error.contentId, blobId: error.blobId, error })
  }
  for (const { id, error } of unreadable) {
    run.report.add({ what: 'manifest', snapshotId: id, error: asRepoError(error) })
  }
  const trees = new Trees(repository.contents, run)
  for (const snapshot of snapshots) {
    if (wanted !== undefined && !wanted.includes(snapshot.id)) continue
    await trees.verify(snapshot)
    run.report.count('snapshots')
  }
}

/** Where in which snapshot something is wrong. */
interface Place {
  snapshot: SnapshotManifest
  kind: 'file' | 'directory'
  path: EntryPath | undefined
  /** The directories above it. */
  above: readonly ContentId[]
}

class Trees {
  readonly #contents: ContentStore
  readonly #run: SnapshotsRun
  /** First contents of objects that were found good, or are being looked at. */
  readonly #seen = new UsedContents()
  /** Objects with something wrong in or below them: they are looked at again, to be named again. */
  readonly #flawed = new Set<ContentId>()

  constructor(contents: ContentStore, run: SnapshotsRun) {
    this.#contents = contents
    this.#run = run
  }

  async verify(snapshot: SnapshotManifest): Promise<void> {
    const { signal } = this.#run.options
    const way: ContentId[] = []
    const walk = walkSnapshot(this.#contents, snapshot.rootEntry, {
      signal,
      skip: ({ obj }) => this.#isGood(obj),
      select: ({ entry }, entries) => {
        this.#seen.add(parseObjectId(entry.obj).contentId)
        this.#run.report.count('directories')
        return entries
      },
      onDirectoryError: ({ path }, error) =>
        this.#found({ snapshot, kind: 'directory', path, above: way }, error),
    })
    for await (const { entry, path, depth } of walk) {
      throwIfCancelled(signal)
      way.length = depth
      if (entry.type === 'd') {
        way.push(parseObjectId(entry.obj).contentId)
        await this.#collectDirectory(entry)
      } else await this.#verifyFile(entry, { snapshot, kind: 'file', path, above: way })
    }
  }

  async #collectDirectory({ obj }: DirectoryEntry): Promise<void> {
    if (this.#run.used === undefined || this.#isGood(obj)) return
    try {
      await this.#requireContents(obj)
    } catch (error) {
      // The walk tells of it when it comes to read the directory.
      if (!isFinding(error)) throw error
    }
  }

  async #verifyFile(entry: DirectoryEntry, place: Place): Promise<void> {
    if (this.#isGood(entry.obj)) return
    const { contentId } = parseObjectId(entry.obj)
    this.#run.report.count('files')
    try {
      const size = await this.#requireContents(entry.obj)
      if (size !== entry.size) throw wrongSize(entry, size)
      this.#seen.add(contentId)
    } catch (error) {
      this.#found(place, error)
    }
  }

  /** The length of an object all of whose contents can be had. Throws the reason when one cannot. */
  async #requireContents(id: ObjectId): Promise<number> {
    const { indirection, contentId, compressed } = parseObjectId(id)
    this.#run.used?.add(contentId)
    const problem = this.#run.bad.get(contentId)
    if (problem !== undefined) throw problem
    const entry = this.#contents.info(contentId)
    if (entry === undefined) {
      const message = `content ${contentId} is in no index`
      throw new RepoError('CONTENT_NOT_FOUND', { message, contentId, objectId: id })
    }
    // Until the next collection revives it, nobody else looks whether a deleted content that is in use is still there.
    if (entry.deleted) await this.#contents.read(contentId, this.#run.options.signal)
    if (indirection === 0 && !compressed) return entry.originalLength
    if (indirection > 0) await this.#requireContents(objectId(id.slice(1)))
    let length = 0
    for (const chunk of await chunksOf(this.#contents, id, this.#run.options.signal)) {
      if (indirection > 0) await this.#requireContents(chunk.object)
      length += chunk.length
    }
    return length
  }

  #isGood(obj: ObjectId): boolean {
    const { contentId } = parseObjectId(obj)
    return this.#seen.has(contentId) && !this.#flawed.has(contentId)
  }

  #found({ snapshot, kind, path: chain, above }: Place, cause: unknown): void {
    if (!isFinding(cause)) throw cause
    for (const directory of above) this.#flawed.add(directory)
    const path = formatEntryPath(chain)
    const { blobId, contentId } = cause
    const ids = { blobId, contentId, path, snapshotId: snapshot.id }
    const error = new RepoError(cause.code, {
      ...ids,
      message: `${kind} ${JSON.stringify(path)} of snapshot ${snapshot.id} cannot be restored: ${cause.message}`,
      hint: 'restore it from another snapshot, or the blob from a copy of the storage',
      objectId: cause.objectId,
      cause,
    })
    this.#run.report.add({ what: kind, ...ids, error })
  }
}

function wrongSize({ obj, size }: DirectoryEntry, actual: number): RepoError {
  return corrupt(`its data has ${actual} bytes where the snapshot says ${size}`, { objectId: obj })
}

function asRepoError(error: unknown): RepoError {
  return isRepoError(error)
    ? error
    : corrupt(error instanceof Error ? error.message : String(error), { cause: error })
}

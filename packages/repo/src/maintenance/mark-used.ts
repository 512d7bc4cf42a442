import type { ContentStore } from '../content/content-store.ts'
import { isRepoError, RepoError, type RepoErrorCode, throwIfCancelled } from '../errors/repo-error.ts'
import type { ContentId } from '../index-format/content-id.ts'
import type { ManifestStore } from '../manifest/manifest-store.ts'
import { type ObjectId, objectId, parseObjectId } from '../object/object-id.ts'
import { chunksOf } from '../object/object-reader.ts'
import type { DirectoryEntry } from '../snapshot/directory.ts'
import { listSnapshots } from '../snapshot/list-snapshots.ts'
import type { SnapshotManifest } from '../snapshot/snapshot-manifest.ts'
import { walkSnapshot } from '../snapshot/walk-snapshot.ts'
import { UsedContents } from './used-contents.ts'

/** Where snapshots and their trees are read. */
export interface MarkedRepository {
  contents: ContentStore
  manifests: ManifestStore
}

/** How the trees are walked. */
export interface MarkOptions {
  signal?: AbortSignal | undefined
  /** Called for every entry; may throw to end the walk. */
  onEntry?: (() => Promise<void>) | undefined
}

/**
 * Every content that some snapshot needs, incomplete ones included: directories, files, and the index objects of both.
 * A tree that several snapshots share is walked once. Throws when a snapshot cannot be read whole, because what it
 * needs is then unknown and would be taken for garbage.
 */
export async function markUsedContents(
  repository: MarkedRepository,
  options: MarkOptions = {},
): Promise<UsedContents> {
  const { signal } = options
  const { snapshots, unreadable } = await listSnapshots(repository.manifests, { signal })
  const [first] = unreadable
  if (first !== undefined) throw unreadableSnapshot(first.id, first.error)
  const [damaged] = repository.manifests.damaged
  if (damaged !== undefined) throw damagedManifests(damaged)
  const marker = new Marker(repository.contents, options)
  for (const snapshot of snapshots) await markSnapshot(marker, snapshot)
  return marker.used
}

async function markSnapshot(marker: Marker, snapshot: SnapshotManifest): Promise<void> {
  try {
    await marker.markTree(snapshot.rootEntry)
  } catch (error) {
    throw isRepoError(error) && damage.has(error.code) ? unreadableSnapshot(snapshot.id, error) : error
  }
}

/** Errors that will come again; others, such as of a storage that is away, say nothing about the snapshot. */
const damage: ReadonlySet<RepoErrorCode> = new Set([
  ...(['BLOB_NOT_FOUND', 'CONTENT_NOT_FOUND', 'OBJECT_NOT_FOUND'] as const),
  ...(['CORRUPT', 'INVALID_ARGUMENT', 'INVALID_RANGE'] as const),
])

class Marker {
  readonly used = new UsedContents()
  /** Files in many chunks whose chunks are marked: one in some hundred files, so that a plain set is small enough. */
  readonly #listed = new Set<ObjectId>()
  /** Contents of directories whose children are marked or being marked. */
  readonly #entered = new UsedContents()
  readonly #contents: ContentStore
  readonly #signal: AbortSignal | undefined
  readonly #onEntry: MarkOptions['onEntry']

  constructor(contents: ContentStore, { signal, onEntry }: MarkOptions) {
    this.#contents = contents
    this.#signal = signal
    this.#onEntry = onEntry
  }

  async markTree(root: DirectoryEntry): Promise<void> {
    const walk = walkSnapshot(this.#contents, root, {
      signal: this.#signal,
      skip: entry => this.#entered.has(parseObjectId(entry.obj).contentId),
      select: ({ entry }, entries) => {
        this.#entered.add(parseObjectId(entry.obj).contentId)
        return entries
      },
    })
    for await (const { entry } of walk) {
      throwIfCancelled(this.#signal)
      if (this.#onEntry) await this.#onEntry()
      await this.#markObject(entry.obj)
    }
  }

  async #markObject(id: ObjectId): Promise<void> {
    const { indirection, contentId } = parseObjectId(id)
    if (indirection === 0) {
      this.#markContent(contentId)
      return
    }
    // An index object of several levels begins with the same content on every level, hence the id and not the content.
    if (this.#listed.has(id)) return
    await this.#markObject(objectId(id.slice(1)))
    for (const { object } of await chunksOf(this.#contents, id, this.#signal)) await this.#markObject(object)
    this.#listed.add(id)
  }

  #markContent(id: ContentId): void {
    if (!this.used.add(id)) return
    if (this.#contents.info(id) === undefined) throw missingContent(id)
  }
}

function unreadableSnapshot(id: string, cause: unknown): RepoError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new RepoError('CORRUPT', {
    message: `Snapshot ${id} cannot be read whole, so that nobody knows what it needs: ${reason}`,
    hint: 'Run verify, then repair or delete this snapshot; maintenance deletes nothing until then',
    snapshotId: id,
    cause,
  })
}

function damagedManifests(cause: RepoError): RepoError {
  return new RepoError('CORRUPT', {
    message: `Manifests cannot be read, and some of them may be snapshots: ${cause.message}`,
    hint: 'Run verify; maintenance deletes nothing until every manifest can be read',
    contentId: cause.contentId,
    blobId: cause.blobId,
    cause,
  })
}

function missingContent(id: ContentId): RepoError {
  return new RepoError('CONTENT_NOT_FOUND', { message: `Content ${id} is in no index`, contentId: id })
}

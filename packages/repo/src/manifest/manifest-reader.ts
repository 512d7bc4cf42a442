import type { ContentStore } from '../content/content-store.ts'
import { corrupt, isRepoError, RepoError } from '../errors/repo-error.ts'
import { parseGoJson } from '../go-json/go-json.ts'
import type { ContentId } from '../index-format/content-id.ts'
import { type ManifestEntry, mergeManifests, parseManifestContent } from './manifest-content.ts'
import type {
  Manifest,
  ManifestId,
  ManifestLabels,
  ManifestMetadata,
  ManifestStore,
} from './manifest-store.ts'

/** Contents of manifests by id; they never change, so all stores of one repository may share what they have read. */
export type ManifestCache = Map<ContentId, readonly ManifestEntry[]>

/** How manifests are read. */
export interface ManifestReaderOptions {
  contents: ContentStore
  cache?: ManifestCache
  /** Leaves out contents that are damaged, and lists them in `damaged`, instead of failing. */
  skipDamaged?: boolean | undefined
}

const loadsAtOnce = 8

/** Reads the manifests of a repository, again whenever its contents have changed. */
export class ManifestReader implements ManifestStore {
  readonly #contents: ContentStore
  readonly #cache: ManifestCache
  readonly #skipDamaged: boolean
  #loaded: LoadedManifests | undefined
  #loading: Promise<LoadedManifests> | undefined

  constructor({ contents, cache = new Map(), skipDamaged = false }: ManifestReaderOptions) {
    this.#contents = contents
    this.#cache = cache
    this.#skipDamaged = skipDamaged
  }

  get damaged(): readonly RepoError[] {
    return this.#loaded?.damaged ?? []
  }

  async get(id: ManifestId, signal?: AbortSignal): Promise<Manifest> {
    const entry = (await this.load(signal)).entries.get(id)
    if (entry === undefined || entry.deleted) throw manifestNotFound(id)
    return manifestOf(entry)
  }

  async find(labels: ManifestLabels, signal?: AbortSignal): Promise<ManifestMetadata[]> {
    return findManifests((await this.load(signal)).entries.values(), labels)
  }

  async refresh(signal?: AbortSignal): Promise<void> {
    await this.#contents.refresh(signal)
    await this.load(signal)
  }

  /** All entries that count, ends of manifests included, and the contents they come from. */
  async load(signal?: AbortSignal): Promise<LoadedManifests> {
    while (this.#loaded?.revision !== this.#contents.revision) {
      this.#loading ??= this.#loadAll(signal).finally(() => {
        this.#loading = undefined
      })
      try {
        this.#loaded = await this.#loading
      } catch (error) {
        // Somebody else's loading was waited for, and it was cancelled for them.
        if (!isRepoError(error, 'CANCELLED') || signal?.aborted) throw error
      }
    }
    return this.#loaded
  }

  async #loadAll(signal: AbortSignal | undefined): Promise<LoadedManifests> {
    const { revision } = this.#contents
    const ids: ContentId[] = []
    for await (const { contentId } of this.#contents.entries({ prefix: 'm', signal })) ids.push(contentId)
    const { found, damaged } = await this.#readAll(ids, signal)
    for (const id of this.#cache.keys()) if (!found.has(id)) this.#cache.delete(id)
    const entries = mergeManifests(ids.flatMap(id => found.get(id) ?? []))
    return { revision, contentIds: ids, entries, damaged }
  }

  async #readAll(ids: readonly ContentId[], signal: AbortSignal | undefined) {
    const waiting = [...ids]
    const found: ManifestCache = new Map()
    const damaged: RepoError[] = []
    const readNext = async (): Promise<void> => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        try {
          found.set(id, this.#cache.get(id) ?? parseNamed(id, await this.#contents.read(id, signal)))
        } catch (error) {
          if (!this.#skipDamaged || !isDamage(error)) throw error
          damaged.push(error)
        }
      }
    }
    await Promise.all(Array.from({ length: loadsAtOnce }, readNext))
    for (const [id, entries] of found) this.#cache.set(id, entries)
    return { found, damaged }
  }
}

/** What `ManifestReader.load` has read. */
export interface LoadedManifests {
  revision: number
  contentIds: readonly ContentId[]
  entries: ReadonlyMap<string, ManifestEntry>
  damaged: readonly RepoError[]
}

/** The manifests among the entries that have all of these labels, oldest first. */
export function findManifests(entries: Iterable<ManifestEntry>, labels: ManifestLabels): ManifestMetadata[] {
  const wanted = Object.entries(labels)
  return [...entries]
    .filter(entry => !entry.deleted && wanted.every(([name, text]) => entry.labels?.[name] === text))
    .map(metadataOf)
    .sort((a, b) => (a.modified === b.modified ? (a.id < b.id ? -1 : 1) : a.modified < b.modified ? -1 : 1))
}

/** The manifest in an entry. */
export function manifestOf(entry: ManifestEntry): Manifest {
  return { ...metadataOf(entry), payload: parseGoJson(entry.payload) }
}

/** Says that a repository holds no manifest of that id. */
export function manifestNotFound(id: string): RepoError {
  return new RepoError('MANIFEST_NOT_FOUND', {
    message: `Manifest ${id} is not in the repository`,
    hint: 'it may have been deleted; list the manifests to see what is there',
    manifestId: id,
  })
}

function metadataOf({ id, labels, modified, payload }: ManifestEntry): ManifestMetadata {
  return { id: id as ManifestId, labels: labels ?? {}, modified, length: Buffer.byteLength(payload) }
}

function parseNamed(id: ContentId, bytes: Uint8Array): ManifestEntry[] {
  try {
    return parseManifestContent(bytes)
  } catch (cause) {
    if (!isRepoError(cause)) throw cause
    throw corrupt(`Manifest content ${id} cannot be used. ${cause.message}`, { contentId: id, cause })
  }
}

function isDamage(error: unknown): error is RepoError {
  return (
    isRepoError(error, 'CORRUPT') ||
    isRepoError(error, 'BLOB_NOT_FOUND') ||
    isRepoError(error, 'INVALID_RANGE')
  )
}

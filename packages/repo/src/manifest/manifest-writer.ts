import type { Clock } from '../clock/clock.ts'
import type { ContentWriter } from '../content/content-store.ts'
import { RepoError } from '../errors/repo-error.ts'
import { encodeGoJson } from '../go-json/go-json.ts'
import type { GoTime } from '../go-json/go-time.ts'
import { type ManifestEntry, serializeManifestContent } from './manifest-content.ts'
import {
  findManifests,
  type ManifestCache,
  ManifestReader,
  manifestNotFound,
  manifestOf,
} from './manifest-reader.ts'
import {
  type Manifest,
  type ManifestId,
  type ManifestLabels,
  type ManifestMetadata,
  type ManifestWriter,
  manifestId,
} from './manifest-store.ts'

/** What a writer of manifests works with. */
export interface ManifestWriterOptions {
  contents: ContentWriter
  clock: Clock
  randomBytes: (length: number) => Uint8Array
  cache?: ManifestCache
}

/** As many contents of manifests make the next flush write them anew as one; Kopia does the same on opening. */
const contentsBeforeCompaction = 16
/** Clocks of two writers differ; the end of a manifest must be later than the manifest for both. */
const laterBy: GoTime = 100_000_000n
/**
 * A compaction keeps the ends of manifests that are younger: another compaction that started from an older view may bring
 * the manifest back, and only its end can undo that.
 */
const endsKeptFor: GoTime = 24n * 3600n * 1_000_000_000n

/** A writer whose changes others see after `flush`. */
export function createManifestWriter(options: ManifestWriterOptions): ManifestWriter {
  return new PendingManifests(options)
}

class PendingManifests implements ManifestWriter {
  readonly #options: ManifestWriterOptions
  readonly #committed: ManifestReader
  readonly #pending = new Map<string, ManifestEntry>()
  #lastTime: GoTime = 0n

  constructor(options: ManifestWriterOptions) {
    this.#options = options
    this.#committed = new ManifestReader(options)
  }

  get damaged() {
    return this.#committed.damaged
  }

  async get(id: ManifestId, signal?: AbortSignal): Promise<Manifest> {
    return manifestOf(await this.#entry(id, signal))
  }

  async find(labels: ManifestLabels, signal?: AbortSignal): Promise<ManifestMetadata[]> {
    const { entries } = await this.#committed.load(signal)
    return findManifests(new Map([...entries, ...this.#pending]).values(), labels)
  }

  refresh(signal?: AbortSignal): Promise<void> {
    return this.#committed.refresh(signal)
  }

  async put(labels: ManifestLabels, payload: unknown): Promise<ManifestId> {
    if (!labels.type) {
      throw new RepoError('INVALID_ARGUMENT', { message: 'A manifest needs a label "type"' })
    }
    const id = Buffer.from(this.#options.randomBytes(16)).toString('hex')
    const text = encodeGoJson(payload)
    this.#pending.set(id, { id, labels, modified: this.#now(), deleted: false, payload: text })
    return manifestId(id)
  }

  async delete(id: ManifestId, signal?: AbortSignal): Promise<void> {
    const { modified } = await this.#entry(id, signal)
    const earliest = modified + laterBy
    const now = this.#now()
    const time = now < earliest ? earliest : now
    this.#pending.set(id, { id, labels: null, modified: time, deleted: true, payload: 'null' })
  }

  async replace(labels: ManifestLabels, payload: unknown): Promise<ManifestId> {
    const count = Object.keys(labels).length
    const same = (await this.find(labels)).filter(other => Object.keys(other.labels).length === count)
    for (const { id } of same) await this.delete(id)
    return this.put(labels, payload)
  }

  async flush(signal?: AbortSignal): Promise<void> {
    const pending = [...this.#pending.values()]
    if (pending.length > 0) await this.#write(pending, signal)
    await this.#options.contents.flush(signal)
    for (const entry of pending) {
      if (this.#pending.get(entry.id) === entry) this.#pending.delete(entry.id)
    }
  }

  async #write(pending: readonly ManifestEntry[], signal: AbortSignal | undefined): Promise<void> {
    const { contents } = this.#options
    const { contentIds } = await this.#committed.load(signal)
    if (contentIds.length >= contentsBeforeCompaction) return this.#compact(pending, signal)
    await contents.write(serializeManifestContent(pending), { prefix: 'm', signal })
  }

  /** Writes all that counts as one content in place of the many; others see both or neither. */
  async #compact(pending: readonly ManifestEntry[], signal: AbortSignal | undefined): Promise<void> {
    const { contents } = this.#options
    await this.#committed.refresh(signal)
    const { contentIds, entries } = await this.#committed.load(signal)
    const oldest = this.#now() - endsKeptFor
    const all = new Map([...entries, ...pending.map(entry => [entry.id, entry] as const)])
    const kept = [...all.values()].filter(entry => !entry.deleted || entry.modified > oldest)
    await contents.atomically(async () => {
      const compacted = await contents.write(serializeManifestContent(kept), { prefix: 'm', signal })
      for (const id of contentIds) if (id !== compacted) await contents.delete(id, signal)
    })
  }

  async #entry(id: ManifestId, signal: AbortSignal | undefined): Promise<ManifestEntry> {
    const entry = this.#pending.get(id) ?? (await this.#committed.load(signal)).entries.get(id)
    if (entry === undefined || entry.deleted) throw manifestNotFound(id)
    return entry
  }

  /** Later than every earlier call, so that a manifest put after another one also counts after it. */
  #now(): GoTime {
    const now = BigInt(Math.trunc(this.#options.clock.now())) * 1_000_000n
    this.#lastTime = now > this.#lastTime ? now : this.#lastTime + 1n
    return this.#lastTime
  }
}

import { blobId } from '../blob/storage.ts'
import { openContent } from '../content/content-codec.ts'
import { corrupt, isRepoError, RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { type ContentId, hashOf } from '../index-format/content-id.ts'
import type { IndexEntry } from '../index-format/index-entry.ts'
import { TaskPool } from '../snapshot/task-pool.ts'
import type { UsedContents } from './used-contents.ts'
import type { VerifiedRepository, VerifyOptions } from './verified-repository.ts'
import type { PackLengths } from './verify-blobs.ts'
import { verifyPackTail } from './verify-pack-tail.ts'
import { isFinding, type VerifyReport } from './verify-report.ts'

/** Contents that cannot be had, and why. */
export type BadContents = ReadonlyMap<ContentId, RepoError>

// Entries of this many contents are held at once; more means another pass over the indexes in memory.
const contentsPerPass = 200_000
// Above this share of a pack, one read of the whole costs less than many of its parts.
const wholePackShare = 0.3

/** What a look at contents takes. */
export interface ContentsRun {
  packs: PackLengths
  report: VerifyReport
  options: VerifyOptions
  /** Looks at these contents and at no others. */
  only?: Pick<UsedContents, 'has'> | undefined
}

/** True when a content belongs to the sample: `percent` of all, another part for each seed in 0..1. */
export function inSample(id: ContentId, { percent, seed }: { percent: number; seed: number }): boolean {
  if (percent >= 100) return true
  const hash = hashOf(id)
  const point = new DataView(hash.buffer, hash.byteOffset).getUint32(hash.length - 4) / 2 ** 32
  return (point + seed) % 1 < percent / 100
}

/**
 * Checks every live content's place against the packs, then reads, decrypts and hashes the chosen ones, pack by pack.
 * Returns those that cannot be had. Throws what the storage throws when it fails for other reasons.
 */
export async function verifyContents(repository: VerifiedRepository, run: ContentsRun): Promise<BadContents> {
  const bad = new Map<ContentId, RepoError>()
  const chosen = await verifyPlaces(repository, run, bad)
  for (const packs of passes(chosen)) {
    const pool = new TaskPool({ tasks: run.options.parallel ?? 4, weight: Number.POSITIVE_INFINITY })
    try {
      for (const [packBlobId, entries] of await entriesOf(repository, run, packs)) {
        await pool.start(1, () => verifyPack(repository, { ...run, packBlobId, entries }, bad))
      }
      await pool.drain()
    } finally {
      await pool.settle()
    }
  }
  return bad
}

async function verifyPlaces(
  repository: VerifiedRepository,
  run: ContentsRun,
  bad: Map<ContentId, RepoError>,
): Promise<Map<string, number>> {
  const { packs, report, options } = run
  const chosen = new Map<string, number>()
  const missing = new MissingPacks(repository, options.signal)
  for await (const entry of repository.contents.entries({ signal: options.signal })) {
    if (run.only?.has(entry.contentId) === false) continue
    report.count('contents')
    const length = packs.get(entry.packBlobId) ?? (await missing.lengthNow(entry.packBlobId))
    const error = placeProblem(entry, length)
    if (error === undefined) {
      if (isChosen(entry, run)) chosen.set(entry.packBlobId, (chosen.get(entry.packBlobId) ?? 0) + 1)
    } else if (length !== undefined || missing.isNeeded(entry)) {
      note({ entry, error, report }, bad)
    }
  }
  return chosen
}

/**
 * Packs that a listing did not show. Others write and maintain while we look: a pack may be younger than the listing, or
 * gone because its contents were moved, which only indexes newer than ours tell.
 */
class MissingPacks {
  readonly #repository: VerifiedRepository
  readonly #signal: AbortSignal | undefined
  readonly #lengths = new Map<string, number | undefined>()

  constructor(repository: VerifiedRepository, signal: AbortSignal | undefined) {
    this.#repository = repository
    this.#signal = signal
  }

  /** The length of a pack as it is now; undefined when it is really missing, in which case the indexes are fresh. */
  async lengthNow(pack: string): Promise<number | undefined> {
    if (this.#lengths.has(pack)) return this.#lengths.get(pack)
    const { storage, contents } = this.#repository
    const signal = this.#signal
    try {
      this.#lengths.set(pack, (await storage.head(blobId(pack), { signal })).length)
    } catch (error) {
      if (!isRepoError(error, 'BLOB_NOT_FOUND')) throw error
      await contents.refresh(signal)
      this.#lengths.set(pack, undefined)
    }
    return this.#lengths.get(pack)
  }

  /** True when the content is still said to be where it was. */
  isNeeded({ contentId, packBlobId }: IndexEntry): boolean {
    const now = this.#repository.contents.info(contentId)
    return now !== undefined && !now.deleted && now.packBlobId === packBlobId
  }
}

/** What is wrong with the place of a content, given the length of its pack. */
export function placeProblem(entry: IndexEntry, packLength: number | undefined): RepoError | undefined {
  const { contentId, packBlobId, packOffset, packedLength } = entry
  const hint = 'look for this blob in a copy of the storage; snapshots that need it are listed too'
  if (packLength === undefined) {
    const message = `content ${contentId} should be in blob ${packBlobId}, which is missing`
    return new RepoError('BLOB_NOT_FOUND', { message, contentId, blobId: packBlobId, hint })
  }
  if (packOffset + packedLength > packLength) {
    const message = `content ${contentId} should end at byte ${packOffset + packedLength} of blob ${packBlobId}, which has ${packLength}`
    return corrupt(message, { contentId, blobId: packBlobId, hint })
  }
  return undefined
}

function isChosen({ contentId }: IndexEntry, { options, only }: ContentsRun): boolean {
  const { contents = 'sample', samplePercent = 1, seed = 0 } = options
  if (contents === 'none' || only?.has(contentId) === false) return false
  return contents === 'all' || inSample(contentId, { percent: samplePercent, seed })
}

function* passes(chosen: ReadonlyMap<string, number>): Generator<Set<string>> {
  let packs = new Set<string>()
  let total = 0
  for (const [pack, count] of chosen) {
    if (total > 0 && total + count > contentsPerPass) {
      yield packs
      packs = new Set()
      total = 0
    }
    packs.add(pack)
    total += count
  }
  if (packs.size > 0) yield packs
}

async function entriesOf(
  { contents }: VerifiedRepository,
  run: ContentsRun,
  packs: ReadonlySet<string>,
): Promise<Map<string, IndexEntry[]>> {
  const entries = new Map<string, IndexEntry[]>([...packs].map(pack => [pack, []]))
  for await (const entry of contents.entries({ signal: run.options.signal })) {
    if (packs.has(entry.packBlobId) && isChosen(entry, run)) entries.get(entry.packBlobId)?.push({ ...entry })
  }
  return entries
}

interface PackRun extends ContentsRun {
  packBlobId: string
  entries: IndexEntry[]
}

async function verifyPack(
  repository: VerifiedRepository,
  run: PackRun,
  bad: Map<ContentId, RepoError>,
): Promise<void> {
  const { report, entries, packBlobId } = run
  const read = await packReader(repository, run)
  const codec = { ...repository.crypto, rehash: true }
  for (const entry of entries.sort((a, b) => a.packOffset - b.packOffset)) {
    throwIfCancelled(run.options.signal)
    try {
      openContent(codec, entry, await read(entry.packOffset, entry.packedLength))
      report.count('contentsRead')
      report.count('bytesRead', entry.packedLength)
    } catch (error) {
      if (!isFinding(error)) throw error
      if (
        isRepoError(error, 'BLOB_NOT_FOUND') &&
        !(await isStillMissing(repository, entry, run.options.signal))
      )
        continue
      note({ entry, error, report }, bad)
    }
  }
  if (run.options.contents === 'all' && run.only === undefined) {
    const length = run.packs.get(packBlobId) ?? 0
    await verifyPackTail(repository, { packBlobId, length, read, report })
  }
}

async function isStillMissing(
  repository: VerifiedRepository,
  entry: IndexEntry,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const missing = new MissingPacks(repository, signal)
  return (await missing.lengthNow(entry.packBlobId)) === undefined && missing.isNeeded(entry)
}

/** Reads parts of one pack. */
export type ReadPack = (offset: number, length: number) => Promise<Uint8Array>

async function packReader({ storage }: VerifiedRepository, run: PackRun): Promise<ReadPack> {
  const { signal } = run.options
  const id = blobId(run.packBlobId)
  const wanted = run.entries.reduce((sum, { packedLength }) => sum + packedLength, 0)
  const length = run.packs.get(run.packBlobId) ?? 0
  if (wanted < length * wholePackShare)
    return (offset, size) => storage.get(id, { offset, length: size, signal })
  let whole: Promise<Uint8Array> | undefined
  return async (offset, size) => {
    whole ??= storage.get(id, { signal })
    const bytes = await whole
    if (offset + size <= bytes.length) return bytes.subarray(offset, offset + size)
    throw corrupt(`blob ${id} has ${bytes.length} bytes where ${length} were listed`, { blobId: id })
  }
}

function note(
  { entry, error, report }: { entry: IndexEntry; error: RepoError; report: VerifyReport },
  bad: Map<ContentId, RepoError>,
): void {
  const { contentId, packBlobId } = entry
  bad.set(contentId, error)
  report.add({ what: 'content', contentId, blobId: packBlobId, error })
}

import { randomBytes as systemRandomBytes } from 'node:crypto'
import type { BlobId, BlobStorage } from './blob/storage.ts'
import { systemClock } from './clock/clock.ts'
import { parseEpochBlobName, rangePrefix, setSuffix, singlePrefix } from './epoch/epoch-blob-name.ts'
import { createEpochManager, type EpochManager } from './epoch/epoch-manager.ts'
import { type BlobCrypto, decryptBlob, encryptBlob } from './format/blob-crypto.ts'
import { type OpenFormat, openFormatBlob, requireWritableFormat } from './format/repository-format.ts'
import type { IndexEntry } from './index-format/index-entry.ts'
import { mergeIndexPlaintexts, serializeShards } from './index-format/serialize-index.ts'
import type { RebuiltIndex } from './maintenance/rebuilt-indexes.ts'
import { type OpenRepositoryOptions, openWithFormat, type Repository } from './repository.ts'
import { retainingAs } from './storage-layers.ts'

/** How indexes are repaired. */
export interface RepairIndexesOptions
  extends Omit<OpenRepositoryOptions, 'onRebuiltIndex' | 'readOnly' | 'cache'> {
  /** Only looks. */
  dryRun?: boolean | undefined
}

/** What a repair found and did. */
export interface IndexRepair {
  /** The damaged blobs, which are deleted now. */
  readonly damaged: readonly RebuiltIndex[]
  /** The index blobs that replace them. */
  readonly written: readonly BlobId[]
  /** Contents that are marked deleted, because the damaged index knew that their packs are gone. */
  readonly withoutPack: number
}

// Deleting a merged index brings back the ones that it was made of, where they still exist; those may be damaged too.
const mostRounds = 10

/**
 * Replaces damaged index blobs by what the packs say of themselves. First the new index is written, then the damaged blob is
 * deleted, so that a repair that dies is a repair that can be run again. Contents come back that only the damaged index knew
 * to be deleted; the next maintenance marks them again. The storage stays open. Throws `UNSUPPORTED_FORMAT` for format version 1,
 * and as `openRepository` does.
 */
export async function repairIndexes(options: RepairIndexesOptions): Promise<IndexRepair> {
  const { storage: raw, password, clock = systemClock, randomBytes = systemRandomBytes } = options
  const { dryRun = false, signal } = options
  const format = await openFormatBlob(raw, password, { clock, signal })
  requireWritableFormat(format.format)
  const repair = { damaged: [] as RebuiltIndex[], written: [] as BlobId[], withoutPack: 0 }
  for (let round = 0; round < (dryRun ? 1 : mostRounds); round++) {
    const found = await openRebuilt(format, options)
    if (found.damaged.length === 0) break
    const gone = await entriesWithoutPack(found.repository, signal)
    repair.damaged.push(...found.damaged)
    repair.withoutPack += gone.length
    if (!dryRun) repair.written.push(...(await replace(found, { gone, raw, randomBytes, signal })))
  }
  return repair
}

interface RebuiltRepository {
  repository: Repository
  damaged: readonly RebuiltIndex[]
}

async function openRebuilt(format: OpenFormat, options: RepairIndexesOptions): Promise<RebuiltRepository> {
  const damaged = new Map<BlobId, RebuiltIndex>()
  const repository = await openWithFormat(format, {
    ...options,
    onRebuiltIndex: rebuilt => damaged.set(rebuilt.blobId, rebuilt),
  })
  return { repository, damaged: [...damaged.values()] }
}

/**
 * Entries of contents whose packs were deleted: the damaged index knew that they are deleted. Left alive, the next writer
 * would rely on them.
 */
async function entriesWithoutPack(
  repository: Repository,
  signal: AbortSignal | undefined,
): Promise<IndexEntry[]> {
  const packs = new Set<string>()
  for (const prefix of ['p', 'q']) {
    for await (const { id } of repository.storage.list(prefix, { signal })) packs.add(id)
  }
  const timestamp = Math.floor(repository.clock.now() / 1000)
  const gone: IndexEntry[] = []
  for await (const entry of repository.contents.entries({ signal })) {
    if (!packs.has(entry.packBlobId)) gone.push({ ...entry, deleted: true, timestamp })
  }
  return gone
}

interface Replacement {
  gone: readonly IndexEntry[]
  raw: BlobStorage
  randomBytes: (length: number) => Uint8Array
  signal: AbortSignal | undefined
}

/** Writes all that is to be read instead, then deletes what cannot be read. */
async function replace(
  { repository, damaged }: RebuiltRepository,
  { gone, raw, randomBytes, signal }: Replacement,
): Promise<BlobId[]> {
  const { crypto, clock, format } = repository
  const { epochParameters: parameters, indexVersion: version } = format.format
  const storage = retainingAs(raw, format.blobConfig, clock)
  const epochs = createEpochManager({ storage, crypto, clock, parameters })
  const merging = { version, encryptionOverhead: crypto.encryption.overhead }
  const written: BlobId[] = []
  const replaced: BlobId[] = []
  for (const { prefix, ids } of damagedSets(repository, damaged)) {
    const plaintexts: Uint8Array[] = []
    for (const id of ids) plaintexts.push(await plaintextOf(id, { repository, damaged, signal }))
    const shards = mergeIndexPlaintexts(plaintexts, merging)
    const target = prefix === undefined ? undefined : { prefix, setId: newSetId(randomBytes) }
    written.push(...(await writeShards({ shards, target, epochs, storage, crypto, signal })))
    replaced.push(...ids)
  }
  const shards = serializeShards(gone, { version })
  written.push(...(await writeShards({ shards, target: undefined, epochs, storage, crypto, signal })))
  for (const id of replaced) await storage.delete(id, { signal })
  return written
}

interface DamagedSet {
  /** The blobs of a merged set keep the beginning of their names, which says what they stand for; others need not. */
  prefix: string | undefined
  /** Damaged ones, and the good ones without which readers would not take the set. */
  ids: BlobId[]
}

function damagedSets(repository: Repository, damaged: readonly RebuiltIndex[]): DamagedSet[] {
  const names = [...repository.index.current.blobNames] as BlobId[]
  const sets = new Map<string, DamagedSet>()
  for (const { blobId } of damaged) {
    const name = parseEpochBlobName(blobId)
    if (name?.kind === 'single' || name?.kind === 'range') {
      const prefix =
        name.kind === 'single' ? singlePrefix(name.min) : rangePrefix({ first: name.min, last: name.max })
      const ids = names.filter(id => id.startsWith(prefix) && parseEpochBlobName(id)?.setKey === name.setKey)
      sets.set(`${prefix} ${name.setKey}`, { prefix, ids })
    } else sets.set(blobId, { prefix: undefined, ids: [blobId] })
  }
  return [...sets.values()]
}

async function plaintextOf(
  id: BlobId,
  { repository, damaged, signal }: RebuiltRepository & { signal: AbortSignal | undefined },
): Promise<Uint8Array> {
  const rebuilt = damaged.find(({ blobId }) => blobId === id)
  if (rebuilt !== undefined) return rebuilt.plaintext
  return decryptBlob(id, await repository.storage.get(id, { signal }), repository.crypto)
}

interface ShardsToWrite {
  shards: readonly Uint8Array[]
  /** A set of its own; else they go to the current epoch. */
  target: { prefix: string; setId: string } | undefined
  epochs: EpochManager
  storage: BlobStorage
  crypto: BlobCrypto
  signal: AbortSignal | undefined
}

async function writeShards({ shards, target, ...to }: ShardsToWrite): Promise<BlobId[]> {
  const { epochs, storage, crypto, signal } = to
  if (shards.length === 0) return []
  if (target === undefined) return epochs.writeIndex({ shards, sessionId: '' }, signal)
  const written: BlobId[] = []
  for (const shard of shards) {
    const suffix = setSuffix(target.setId, shards.length)
    const blob = encryptBlob(shard, { prefix: target.prefix, suffix }, crypto)
    await storage.put(blob.id, blob.bytes, { signal })
    written.push(blob.id)
  }
  return written
}

function newSetId(randomBytes: (length: number) => Uint8Array): string {
  return `s${Buffer.from(randomBytes(8)).toString('hex')}`
}

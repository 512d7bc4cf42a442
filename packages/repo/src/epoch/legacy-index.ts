import type { BlobMetadata } from '../blob/storage.ts'
import { corrupt } from '../errors/repo-error.ts'
import { asJsonObject, type JsonValue, parseGoJson } from '../go-json/go-json.ts'
import type { CompleteIndexSet } from './epoch-state.ts'
import { fetchIndexBlobs, type IndexBlobSource } from './fetch-index-blobs.ts'

/** What a compaction of legacy indexes read and wrote. */
export interface CompactionLog {
  inputs: readonly string[]
  outputs: readonly string[]
}

const indexPrefix = 'n'
const compactionLogPrefix = 'm'
// Left by an upgrade for old clients to stumble over; it is no index.
const poison = /^n0+-repository_unreadable_by_this_kopia_version/

/** The legacy indexes to load: all but those that a compaction replaced whose outputs are all there. */
export function legacyIndexSet(
  blobs: readonly BlobMetadata[],
  logs: readonly CompactionLog[],
): BlobMetadata[] {
  const indexes = blobs.filter(({ id }) => !poison.test(id))
  const present = new Set<string>(indexes.map(({ id }) => id))
  const replaced = new Set(
    logs.filter(({ outputs }) => outputs.every(id => present.has(id))).flatMap(({ inputs }) => inputs),
  )
  return indexes.filter(({ id }) => !replaced.has(id))
}

/** Reads the plaintext of a compaction log. Throws `CORRUPT`. */
export function parseCompactionLog(plaintext: Uint8Array): CompactionLog {
  const json = asJsonObject(parseGoJson(Buffer.from(plaintext).toString('utf8')), 'A compaction log')
  return { inputs: idsOf(json.inputMetadata), outputs: idsOf(json.outputMetadata) }
}

/** Finds the index blobs of a repository without epochs (format version 1). */
export async function readLegacyIndexSet(source: IndexBlobSource): Promise<CompleteIndexSet> {
  // Logs before indexes: a log seen here has its outputs in the later listing.
  const logNames = await listAll(source, compactionLogPrefix)
  const logs: CompactionLog[] = []
  await fetchIndexBlobs(
    logNames.map(({ id }) => id),
    source,
    (_, plaintext) => logs.push(parseCompactionLog(plaintext)),
  )
  const blobs = await listAll(source, indexPrefix)
  return { blobs: legacyIndexSet(blobs, logs), deletionWatermark: 0 }
}

async function listAll({ storage, signal }: IndexBlobSource, prefix: string): Promise<BlobMetadata[]> {
  const blobs: BlobMetadata[] = []
  for await (const blob of storage.list(prefix, { signal })) blobs.push(blob)
  return blobs
}

function idsOf(value: JsonValue | undefined): string[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw corrupt('A compaction log has a malformed list of blobs')
  return value.map(item => {
    const id = asJsonObject(item, 'A blob in a compaction log').id
    if (typeof id !== 'string') throw corrupt('A blob in a compaction log has no id')
    return id
  })
}

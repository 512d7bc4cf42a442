import { gunzipSync } from 'node:zlib'
import type { BlobId } from '../blob/storage.ts'
import { corrupt, isRepoError, throwIfCancelled } from '../errors/repo-error.ts'
import { parseBlobConfig } from '../format/blob-config.ts'
import { decryptBlob } from '../format/blob-crypto.ts'
import { parseFormatBlob } from '../format/format-blob.ts'
import { parseFormatBlock } from '../format/format-parameters.ts'
import { formatBlobId } from '../format/repository-format.ts'
import { unseal } from '../format/sealed-block.ts'
import { parseIndex } from '../index-format/pack-index.ts'
import { openSchedule } from './schedule.ts'
import type { VerifiedRepository } from './verified-repository.ts'
import { isFinding, type VerifyReport } from './verify-report.ts'

/** The packs that a listing shows, by name, with their lengths. */
export type PackLengths = ReadonlyMap<string, number>

type Check = (bytes: Uint8Array, id: BlobId, repository: VerifiedRepository) => void

const poisonedIndex = /^n0+-/

const checks: readonly (readonly [RegExp, Check])[] = [
  [/^x[nsr]\d/, checkIndex],
  [/^n[0-9a-f]{32}/, checkIndex],
  [/^s[0-9a-f]{32}/, checkJson],
  [/^[ml][0-9a-f]{32}/, checkJson],
  [/^_log_/, (bytes, id, repository) => void gunzipSync(openBlob(bytes, id, repository))],
  [/^xe\d+$/, bytes => expectText(bytes, 'epoch-marker')],
  [/^xw\d+$/, bytes => expectText(bytes, 'deletion-watermark')],
  [/^kopia\.repository$/, checkFormat],
  [/^kopia\.blobcfg$/, checkBlobConfig],
  [/^kopia\.maintenance$/, (bytes, _, { format }) => void openSchedule(bytes, format.keys.maintenance)],
  [/^udmrepo\.Repository$/, checkVeleroMarker],
]

/**
 * Lists all blobs, reads every one that is not a pack and checks that it can be understood and has the name its bytes
 * give it. Returns the packs. Throws what the storage throws.
 */
export async function verifyBlobs(
  repository: VerifiedRepository,
  report: VerifyReport,
  signal?: AbortSignal,
): Promise<PackLengths> {
  const packs = new Map<string, number>()
  const others: BlobId[] = []
  for await (const { id, length } of repository.storage.list('', { signal })) {
    report.count('blobs')
    if (/^[pq][0-9a-f]/.test(id)) packs.set(id, length)
    else others.push(id)
  }
  if (!others.includes(formatBlobId)) others.push(formatBlobId)
  for (const id of others) {
    throwIfCancelled(signal)
    const check = poisonedIndex.test(id) ? undefined : checks.find(([pattern]) => pattern.test(id))?.[1]
    if (check !== undefined) await verifyBlob(repository, { id, check, report }, signal)
  }
  return packs
}

async function verifyBlob(
  repository: VerifiedRepository,
  { id, check, report }: { id: BlobId; check: Check; report: VerifyReport },
  signal: AbortSignal | undefined,
): Promise<void> {
  let bytes: Uint8Array
  try {
    bytes = await repository.storage.get(id, { signal })
  } catch (error) {
    // Maintenance and writers may remove such blobs at any time.
    if (isRepoError(error, 'BLOB_NOT_FOUND') && id !== formatBlobId) return
    throw error
  }
  try {
    check(bytes, id, repository)
    report.count('blobsRead')
  } catch (cause) {
    if (isRepoError(cause) && !isFinding(cause)) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    const hint = isRepoError(cause) ? cause.hint : 'restore this blob from a copy of the storage'
    const error = corrupt(`blob ${id} is damaged: ${reason}`, { blobId: id, hint, cause })
    report.add({ what: 'blob', blobId: id, error })
  }
}

function openBlob(bytes: Uint8Array, id: BlobId, { crypto }: VerifiedRepository): Uint8Array {
  const plaintext = decryptBlob(id, bytes, crypto)
  const [stem = ''] = id.split('-', 1)
  if (!stem.endsWith(Buffer.from(crypto.hash.hash(plaintext)).toString('hex'))) {
    throw corrupt('its name is not the hash of what it holds', { blobId: id })
  }
  return plaintext
}

function checkIndex(bytes: Uint8Array, id: BlobId, repository: VerifiedRepository): void {
  const index = parseIndex(openBlob(bytes, id, repository), {
    encryptionOverhead: repository.crypto.encryption.overhead,
  })
  for (const entry of index.entries()) if (entry.packBlobId === '') throw corrupt('an entry names no pack')
}

function checkJson(bytes: Uint8Array, id: BlobId, repository: VerifiedRepository): void {
  JSON.parse(Buffer.from(openBlob(bytes, id, repository)).toString('utf8'))
}

function expectText(bytes: Uint8Array, expected: string): void {
  if (Buffer.from(bytes).toString('latin1') !== expected)
    throw corrupt(`it does not hold the text "${expected}"`)
}

function checkFormat(bytes: Uint8Array, _: BlobId, { format }: VerifiedRepository): void {
  const { uniqueId, block } = parseFormatBlob(bytes)
  if (Buffer.compare(uniqueId, format.uniqueId) !== 0) throw corrupt('it belongs to another repository')
  parseFormatBlock(unseal(block, { formatKey: format.keys.format, uniqueId }))
}

function checkBlobConfig(bytes: Uint8Array, _: BlobId, { format }: VerifiedRepository): void {
  parseBlobConfig(unseal(bytes, { formatKey: format.keys.format, uniqueId: format.uniqueId }))
}

function checkVeleroMarker(bytes: Uint8Array, _: BlobId, { format }: VerifiedRepository): void {
  const { uniqueID } = JSON.parse(Buffer.from(bytes).toString('utf8'))
  if (uniqueID !== Buffer.from(format.uniqueId).toString('base64'))
    throw corrupt('it names another repository')
}

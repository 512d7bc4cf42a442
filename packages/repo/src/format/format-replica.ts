import { createHmac, timingSafeEqual } from 'node:crypto'
import type { BlobStorage } from '../blob/storage.ts'
import { throwIfCancelled } from '../errors/repo-error.ts'

const checksumKey = 'kopia-repository'
const checksumLength = 32
const lengthField = 2
const longestReplica = 65000
const window = 65536

/**
 * The copy of `kopia.repository` that packs of format version 1 carry at their start, found at the start or the end of
 * `bytes`; undefined when there is none or its checksum does not match.
 */
export function findFormatReplica(bytes: Uint8Array): Uint8Array | undefined {
  return replicaAt(bytes, 'start') ?? replicaAt(bytes, 'end')
}

/** Looks for a copy of a lost `kopia.repository` in the packs of a repository of format version 1. */
export async function recoverFormatBlob(
  storage: BlobStorage,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<Uint8Array | undefined> {
  for (const prefix of ['p', 'q']) {
    for await (const { id, length } of storage.list(prefix, options)) {
      throwIfCancelled(options.signal)
      const size = Math.min(length, window)
      const head = await storage.get(id, { ...options, offset: 0, length: size })
      const found = findFormatReplica(head)
      if (found !== undefined) return found
      const tail = await storage.get(id, { ...options, offset: length - size, length: size })
      const atEnd = findFormatReplica(tail)
      if (atEnd !== undefined) return atEnd
    }
  }
  return undefined
}

function replicaAt(bytes: Uint8Array, where: 'start' | 'end'): Uint8Array | undefined {
  if (bytes.length < lengthField) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const length = view.getUint16(where === 'start' ? 0 : bytes.length - lengthField, true)
  const start = where === 'start' ? lengthField : bytes.length - lengthField - length
  if (length < checksumLength || length > longestReplica || start < 0 || start + length > bytes.length)
    return undefined
  const body = bytes.subarray(start, start + length - checksumLength)
  const checksum = bytes.subarray(start + length - checksumLength, start + length)
  const expected = createHmac('sha256', checksumKey).update(body).digest()
  return timingSafeEqual(expected, checksum) ? body : undefined
}

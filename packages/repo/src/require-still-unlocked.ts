import type { BlobStorage } from './blob/storage.ts'
import type { Clock } from './clock/clock.ts'
import { parseFormatBlob } from './format/format-blob.ts'
import { parseFormatBlock } from './format/format-parameters.ts'
import { formatBlobId, type OpenFormat, requireUnlocked } from './format/repository-format.ts'
import { unseal } from './format/sealed-block.ts'

/**
 * Reads the format blob of an opened repository again. Throws `LOCKED` when somebody has begun to change the format, after
 * which nobody else may touch the storage, and `BAD_PASSWORD` when the password was changed.
 */
export async function requireStillUnlocked(
  storage: BlobStorage,
  { keys, uniqueId }: Pick<OpenFormat, 'keys' | 'uniqueId'>,
  { clock, signal }: { clock: Clock; signal: AbortSignal | undefined },
): Promise<void> {
  const { block } = parseFormatBlob(await storage.get(formatBlobId, { signal }))
  const format = parseFormatBlock(unseal(block, { formatKey: keys.format, uniqueId }))
  requireUnlocked(format, { now: clock.now() })
}

import type { BlobMetadata } from '../blob/storage.ts'
import type { LogRetention } from './params.ts'

/** Log blobs to delete: all that are older than the first one which breaks a limit, counted from the newest. */
export function excessLogs(
  logs: readonly BlobMetadata[],
  retention: LogRetention,
  now: number,
): { kept: BlobMetadata[]; excess: BlobMetadata[] } {
  const newestFirst = [...logs].sort((a, b) => b.timestamp - a.timestamp)
  const maxAge = Number(retention.maxAge / 1_000_000n)
  let size = 0n
  const cut = newestFirst.findIndex((log, position) => {
    size += BigInt(log.length)
    return (
      (retention.maxTotalSize > 0n && size > retention.maxTotalSize) ||
      (retention.maxCount > 0 && position >= retention.maxCount) ||
      (maxAge > 0 && now - log.timestamp > maxAge)
    )
  })
  if (cut === -1) return { kept: newestFirst, excess: [] }
  return { kept: newestFirst.slice(0, cut), excess: newestFirst.slice(cut) }
}

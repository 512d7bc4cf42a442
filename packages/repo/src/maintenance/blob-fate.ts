import type { BlobMetadata } from '../blob/storage.ts'
import type { SafetyParameters } from './safety.ts'

/** What pack deletion does with one pack or session blob. */
export type BlobFate = 'referenced' | 'written-during-run' | 'too-recent' | 'session-active' | 'delete'

/** What pack deletion knows besides the blob itself. */
export interface BlobContext {
  /** An index entry that no watermark hides points to it. */
  referenced: boolean
  /** Newest checkpoint of the session whose name the blob carries, in milliseconds; undefined without a marker. */
  sessionCheckpoint: number | undefined
  /** Storage time at which this run wrote the schedule, in milliseconds. */
  maintenanceStart: number
  safety: Pick<SafetyParameters, 'packDeleteMinAge' | 'sessionExpirationAge'>
}

// Storage timestamps may have whole seconds only, so that a blob just before the start can seem to be after it.
const timestampSlack = 1000

/** Decides about one blob named `p…`, `q…` or `s…`. */
export function blobFate(blob: Pick<BlobMetadata, 'timestamp'>, context: BlobContext): BlobFate {
  const { safety, sessionCheckpoint } = context
  const cutOff = context.maintenanceStart + timestampSlack
  if (context.referenced) return 'referenced'
  if (blob.timestamp > cutOff) return 'written-during-run'
  if (cutOff - blob.timestamp < safety.packDeleteMinAge) return 'too-recent'
  if (sessionCheckpoint !== undefined && cutOff - sessionCheckpoint < safety.sessionExpirationAge) {
    return 'session-active'
  }
  return 'delete'
}

/** The session that a pack, index or marker name carries; undefined when it carries none. */
export function sessionOf(blobName: string): string | undefined {
  return /-(s[0-9a-f]+)(?:-|$)/.exec(blobName)?.[1]
}

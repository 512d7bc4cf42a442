import type { ContentId } from '../index-format/content-id.ts'
import type { SafetyParameters } from './safety.ts'

/** What snapshot collection does with one content. */
export type ContentFate =
  /** Manifests are never garbage. */
  | 'system'
  /** Some snapshot needs it. */
  | 'in-use'
  /** Some snapshot needs it although it is marked deleted: it becomes live again. */
  | 'undelete'
  /** Nothing needs it, but an upload under way may have written it. */
  | 'too-recent'
  | 'mark-deleted'
  | 'already-deleted'

/** What collection knows of a content. */
export interface CollectedContent {
  contentId: ContentId
  /** Whole seconds of its writer's clock. */
  timestamp: number
  deleted: boolean
  /** Reachable from a snapshot manifest. */
  used: boolean
}

const manifestPrefix = 'm'

/** Decides about one content; `maintenanceStart` is storage time in milliseconds. */
export function contentFate(
  content: CollectedContent,
  maintenanceStart: number,
  safety: Pick<SafetyParameters, 'minContentAgeForGc'>,
): ContentFate {
  if (content.contentId.length % 2 === 1 && content.contentId.startsWith(manifestPrefix)) return 'system'
  if (content.used) return content.deleted ? 'undelete' : 'in-use'
  if (maintenanceStart - content.timestamp * 1000 < safety.minContentAgeForGc) return 'too-recent'
  return content.deleted ? 'already-deleted' : 'mark-deleted'
}

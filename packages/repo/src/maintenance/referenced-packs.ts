import { hiddenByWatermark } from '../index-format/index-entry.ts'
import type { MaintainedRepository } from './maintained-repository.ts'

/** The packs that index entries point to, deleted contents included but for those deleted up to a watermark (Unix seconds). */
export async function referencedPacks(
  { contents }: Pick<MaintainedRepository, 'contents'>,
  { hiddenUpTo, signal }: { hiddenUpTo: number; signal?: AbortSignal | undefined },
): Promise<Set<string>> {
  const referenced = new Set<string>()
  for await (const entry of contents.entries({ includeDeleted: true, signal })) {
    if (!hiddenByWatermark(entry, hiddenUpTo)) referenced.add(entry.packBlobId)
  }
  return referenced
}

import { childPolicies } from '../policy-tree.ts'
import type { Pace } from './pace.ts'
import { SourceReadError } from './source-entry.ts'
import { type DirectoryVisit, includedEntries, visitDirectory } from './visit-directory.ts'

/** How much there is to upload. */
export interface TreeSize {
  files: number
  bytes: number
}

/** Counts files and bytes as an upload would take them; folders that cannot be read count nothing. Ends early when aborted. */
export async function estimateTree(root: DirectoryVisit, pace: Pace, signal: AbortSignal): Promise<TreeSize> {
  const size: TreeSize = { files: 0, bytes: 0 }
  const waiting = [root]
  for (let visit = waiting.pop(); visit && !signal.aborted; visit = waiting.pop()) {
    try {
      waiting.push(...countEntries(visit, size))
    } catch (error) {
      if (!(error instanceof SourceReadError)) throw error
    }
    if (pace.due) await pace.rest()
  }
  return size
}

function countEntries(visit: DirectoryVisit, size: TreeSize): DirectoryVisit[] {
  const folders: DirectoryVisit[] = []
  const folder = visitDirectory(visit)
  for (const entry of includedEntries(folder)) {
    if (entry.kind === 'directory') {
      const relativePath = `${folder.relativePath}/${entry.name}`
      const policies = childPolicies(folder.policies, entry.name)
      folders.push({ entry, relativePath, policies, ignoring: folder.ignoring })
    } else if (entry.kind === 'file') {
      size.files++
      size.bytes += entry.size
    }
  }
  return folders
}

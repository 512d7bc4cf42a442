import { childPolicies } from '../policy-tree.ts'
import type { Pace } from './pace.ts'
import { SourceReadError } from './source-entry.ts'
import { OpenFolders } from './source-folder.ts'
import { type DirectoryVisit, includedEntries, visitDirectory } from './visit-directory.ts'

/** How much there is to upload. */
export interface TreeSize {
  files: number
  bytes: number
}

// Each level of a tree may keep one folder open; what is further down counts nothing.
const mostOpenFolders = 256

/** Counts files and bytes as an upload would take them; folders that cannot be read count nothing. Ends early when aborted. */
export async function estimateTree(root: DirectoryVisit, pace: Pace, signal: AbortSignal): Promise<TreeSize> {
  const size: TreeSize = { files: 0, bytes: 0 }
  const waiting = [root]
  const open = new OpenFolders()
  try {
    for (let visit = waiting.pop(); visit && !signal.aborted; visit = waiting.pop()) {
      try {
        waiting.push(...countEntries(visit, size, open))
      } catch (error) {
        if (!(error instanceof SourceReadError)) throw error
      } finally {
        visit.entry.folder?.release()
      }
      if (pace.due) await pace.rest()
    }
  } finally {
    open.close()
  }
  return size
}

/** The folders in it that are to be counted; each holds the one that it is in. */
function countEntries(visit: DirectoryVisit, size: TreeSize, open: OpenFolders): DirectoryVisit[] {
  const folders: DirectoryVisit[] = []
  const folder = visitDirectory(visit, open)
  for (const entry of includedEntries(folder)) {
    if (entry.kind === 'directory') {
      if (open.count > mostOpenFolders) continue
      folder.source.hold()
      const relativePath = `${folder.relativePath}/${entry.name}`
      const policies = childPolicies(folder.policies, entry.name)
      folders.push({ entry, relativePath, policies, ignoring: folder.ignoring })
    } else if (entry.kind === 'file') {
      size.files++
      size.bytes += entry.size
    }
  }
  folder.source.release()
  return folders
}

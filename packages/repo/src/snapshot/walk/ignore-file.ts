import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs'
import { openSource, readUpTo } from '../../threads/read-source.ts'
import { nameFromBytes } from '../name.ts'
import { printFilePath } from './file-path.ts'
import { reached, reading, type SourceEntry, statEntry } from './source-entry.ts'
import type { SourceFolder } from './source-folder.ts'

const largestIgnoreFile = 1 << 20

/**
 * The text of an ignore file; undefined where the name is neither a file's nor a symlink's. A symlink is followed, to regular
 * files of the same tree only: whoever writes to a volume must not lead its backup to a pipe that nobody writes to, to a device
 * or to files of another owner. Throws SourceReadError.
 */
export function readIgnoreFile(folder: SourceFolder, name: string): string | undefined {
  const entry = statEntry(folder, name)
  if (entry?.kind !== 'file' && entry?.kind !== 'symlink') return undefined
  return reading(entry.path, () => {
    const descriptor = entry.kind === 'file' ? openSource(reached(entry)) : openTarget(entry)
    try {
      if (entry.kind === 'symlink' && !folder.leadsInside(name, descriptor))
        throw refused(entry, 'leads out of the tree')
      return readText(entry, descriptor)
    } finally {
      closeSync(descriptor)
    }
  })
}

// To open a device may set something off, and a fifo waits for its writer: what the symlink leads to is looked at before.
function openTarget(link: SourceEntry): number {
  const at = reached(link)
  if (!statSync(at).isFile()) throw refused(link, 'leads to what is no regular file')
  return openSync(at, constants.O_RDONLY | constants.O_NONBLOCK)
}

function readText(entry: SourceEntry, descriptor: number): string {
  const stats = fstatSync(descriptor)
  if (!stats.isFile()) throw refused(entry, 'is not a regular file any more')
  if (stats.size > largestIgnoreFile) throw refused(entry, `has more than ${largestIgnoreFile} bytes`)
  const bytes = Buffer.alloc(stats.size)
  return nameFromBytes(bytes.subarray(0, readUpTo(descriptor, bytes, stats.size)))
}

function refused(entry: SourceEntry, why: string): Error {
  return new Error(`the ignore file ${printFilePath(entry.path)} ${why}`)
}

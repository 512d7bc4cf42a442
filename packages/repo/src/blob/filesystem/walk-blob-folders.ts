import path from 'node:path'
import { throwIfCancelled } from '../../errors/repo-error.ts'
import { blobFileSuffix } from '../shard-layout.ts'
import { explained, readdir, unlessMissing } from './calls.ts'

/** A folder with the names of the blobs' files in it. */
export interface FolderOfBlobs {
  /** Its path below the root. */
  readonly folders: readonly string[]
  readonly files: readonly string[]
}

const listedAtOnce = 16

/** The folders below a root that can hold ids with this prefix; several are read at once. */
export async function* walkBlobFolders(
  root: string,
  prefix: string,
  signal?: AbortSignal,
): AsyncGenerator<FolderOfBlobs> {
  const ahead: (readonly string[])[] = [[]]
  while (ahead.length > 0) {
    throwIfCancelled(signal)
    const some = ahead.splice(-listedAtOnce)
    for (const read of await Promise.all(some.map(folders => readFolder(root, folders, prefix)))) {
      ahead.push(...read.inner)
      yield read
    }
  }
}

async function readFolder(
  root: string,
  folders: readonly string[],
  prefix: string,
): Promise<FolderOfBlobs & { inner: string[][] }> {
  const folder = path.join(root, ...folders)
  const operation = { doing: 'list the folder', path: folder, writing: false }
  const entries = await explained(operation, () => unlessMissing(readdir(folder, { withFileTypes: true })))
  const files: string[] = []
  const inner: string[][] = []
  for (const entry of entries ?? []) {
    const within = [...folders, entry.name]
    if (entry.isFile() && entry.name.endsWith(blobFileSuffix)) files.push(entry.name)
    if (entry.isDirectory() && compatible(within.join(''), prefix)) inner.push(within)
  }
  return { folders, files, inner }
}

function compatible(folderId: string, prefix: string): boolean {
  return folderId.length < prefix.length ? prefix.startsWith(folderId) : folderId.startsWith(prefix)
}

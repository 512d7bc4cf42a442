import type { ObjectStore } from '@lateen/plugin'
import { type BucketLayout, topLevelFolders } from './bucket-layout.ts'

/** A bucket holds folders that no backup tool of this format writes, so it is probably somebody else's. */
export class ForeignFoldersError extends Error {
  override readonly name = 'ForeignFoldersError'
  readonly code = 'FOREIGN_FOLDERS'
  readonly hint: string
  /** The first offenders by name; `more` says whether there are others. */
  readonly folders: readonly string[]

  constructor(options: { root: string; folders: readonly string[]; more: boolean }) {
    const names = options.folders.map(name => `"${name}"`).join(', ')
    const where = options.root === '' ? 'at its top level' : `below the prefix "${options.root}"`
    const hint = 'Give the location a prefix or a bucket of its own, or move them away'
    super(
      `the bucket holds folders that do not belong to backups ${where}: ${names}${options.more ? ' and more' : ''}. ` +
        `Only ${topLevelFolders.join(', ')} may stand there. ${hint}`,
    )
    this.hint = hint
    this.folders = options.folders
  }
}

const NAMED_OFFENDERS = 3

export interface ValidateLayoutOptions {
  store: ObjectStore
  bucket: string
  layout: BucketLayout
  signal?: AbortSignal
}

/**
 * Reads the top level of a location. Throws `ForeignFoldersError` when it holds folders that are not part of
 * the layout, and the store's error when it cannot be read. Resolves for an empty location.
 */
export async function validateLayout(options: ValidateLayoutOptions): Promise<void> {
  const { store, bucket, layout, signal } = options
  const offenders: string[] = []
  const listing = store.listCommonPrefixes({
    bucket,
    prefix: layout.root,
    delimiter: '/',
    ...(signal && { signal }),
  })
  for await (const prefix of listing) {
    const folder = prefix.slice(layout.root.length, -1)
    if (!isTopLevelFolder(folder)) offenders.push(folder)
    if (offenders.length > NAMED_OFFENDERS) break
  }
  if (offenders.length === 0) return
  const folders = offenders.slice(0, NAMED_OFFENDERS)
  throw new ForeignFoldersError({ root: layout.root, folders, more: offenders.length > folders.length })
}

function isTopLevelFolder(name: string): boolean {
  return topLevelFolders.some(folder => folder === name)
}

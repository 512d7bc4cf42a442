import type { BucketLayout } from '../backup-store/bucket-layout.ts'
import type { BucketFolder, Journal } from './unclaimed.ts'

/** A key that stands beside the folders. */
export interface StrayKey {
  readonly stray: string
}

interface Gathered extends BucketFolder {
  keys: number
  hasMetadata: boolean
  hasSnapshots: boolean
  readonly journals: Map<string, { -readonly [K in keyof Journal]: Journal[K] }>
}

/** Gathers the keys of a listing, which is in order, into the folders below `backups/` or `restores/`, one after the other. */
export async function* bucketFolders(
  keys: AsyncIterable<string>,
  layout: BucketLayout,
  of: 'backups' | 'restores',
): AsyncGenerator<BucketFolder | StrayKey> {
  const root = layout.folder(of)
  let folder: Gathered | undefined
  for await (const key of keys) {
    const name = key.slice(root.length).split('/', 1)[0] ?? ''
    if (name === '' || key.length === root.length + name.length) {
      yield { stray: key }
      continue
    }
    if (folder?.name !== name) {
      if (folder !== undefined) yield folder
      folder = newFolder(name, `${root}${name}/`)
    }
    note(folder, key, layout)
  }
  if (folder !== undefined) yield folder
}

function newFolder(name: string, key: string): Gathered {
  return { name, key, keys: 0, hasMetadata: false, hasSnapshots: false, journals: new Map() }
}

function note(folder: Gathered, key: string, layout: BucketLayout): void {
  const { name } = folder
  folder.keys += 1
  if (key === layout.backupKey(name, 'metadata')) folder.hasMetadata = true
  if (key === layout.backupKey(name, 'volumeSnapshots')) folder.hasSnapshots = true
  const restore = /^lateen-operations\/(?:backup|restores\/([^/]+))\//.exec(key.slice(folder.key.length))
  if (restore === null) return
  const [, restoreName] = restore
  const journalKey = layout.journalFolder(
    restoreName === undefined ? { of: 'backup', name } : { of: 'restore', name: restoreName, backup: name },
  )
  const journal = folder.journals.get(journalKey) ?? { key: journalKey, keys: 0, restore: restoreName }
  journal.keys += 1
  folder.journals.set(journalKey, journal)
}

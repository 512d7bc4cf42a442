import type { Repository } from '../repository.ts'
import type { DirectoryEntry } from '../snapshot/directory.ts'
import { findEntry } from '../snapshot/find-entry.ts'
import { findSnapshot } from '../snapshot/list-snapshots.ts'
import type { SnapshotManifest } from '../snapshot/snapshot-manifest.ts'

/** `SNAPSHOT` or `SNAPSHOT/PATH` in its two parts; the path of a whole snapshot is empty. */
export function splitSnapshotPath(text: string): { readonly id: string; readonly path: string } {
  const slash = text.indexOf('/')
  return slash < 0 ? { id: text, path: '' } : { id: text.slice(0, slash), path: text.slice(slash + 1) }
}

/** What an argument like `k1b2c3/etc/hosts` names. */
export interface NamedEntry {
  readonly snapshot: SnapshotManifest
  readonly path: string
  readonly entry: DirectoryEntry
}

/** Finds what `SNAPSHOT[/PATH]` names. Throws `MANIFEST_NOT_FOUND` or `OBJECT_NOT_FOUND`. */
export async function namedEntry(
  repository: Repository,
  argument: string,
  signal: AbortSignal,
): Promise<NamedEntry> {
  const { id, path } = splitSnapshotPath(argument)
  const snapshot = await findSnapshot(repository.manifests, id, signal)
  const entry = await findEntry(repository.contents, snapshot.rootEntry, { path, signal })
  return { snapshot, path, entry }
}

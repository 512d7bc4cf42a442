import type { GroupResource, ItemRef } from '../../item/item.ts'

/** A version in which objects of a type were stored. */
export interface ArchivedVersion {
  readonly version: string
  /** The cluster of the backup preferred it: the objects that have no version in their path are of this version. */
  readonly preferred: boolean
}

/** A type of which an archive has objects. */
export interface ArchivedType {
  readonly groupResource: GroupResource
  /** Of the folders of versions, sorted by name; none in archives from before there were such folders. */
  readonly versions: readonly ArchivedVersion[]
  /** Objects, each counted once. */
  readonly count: number
}

/**
 * An object in an archive. Made anew at each request, so that a hundred thousand of them need little memory: two of them are the
 * same if their `index` is.
 */
export interface ArchivedItem extends Pick<ItemRef, 'groupResource' | 'namespace' | 'name'> {
  /** The folder that it was found in; empty: the one without a version. */
  readonly version: string
  /** Position in the archive's catalogue, from 0. */
  readonly index: number
}

/** Entries of an archive that are no objects. */
export interface IgnoredEntries {
  readonly count: number
  /** The paths of the first few. */
  readonly examples: readonly string[]
}

/** The archive of a backup, read once and kept in scratch: what is in memory is a catalogue. Disposing removes the scratch files. */
export interface BackupArchive extends AsyncDisposable {
  /** Of the layout: `1` before there were folders of versions, `1.1.0` since. */
  readonly formatVersion: string
  /** Objects, each counted once, whatever number of versions is stored. 0 is a warning to whoever restores. */
  readonly count: number
  /** Sorted by name. */
  readonly types: readonly ArchivedType[]
  /** The namespaces that objects are in, sorted. */
  readonly namespaces: readonly string[]
  readonly ignored: IgnoredEntries
  /**
   * The objects of a type, sorted by namespace, then by file name. With a version, each in that version if it is stored, else
   * in the one that the cluster of the backup preferred.
   */
  items(type: GroupResource, version?: string): Iterable<ArchivedItem>
  /** The object in the version that the cluster of the backup preferred, if the archive has it. */
  find(item: Pick<ItemRef, 'groupResource' | 'namespace' | 'name'>): ArchivedItem | undefined
  /**
   * The object's JSON. May be called from several places at once. The bytes are part of a larger block: use them and let
   * them go. Throws ScratchError when scratch cannot be read.
   */
  load(item: ArchivedItem): Promise<Uint8Array>
}

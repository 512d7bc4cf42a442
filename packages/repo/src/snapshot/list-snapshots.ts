import { RepoError } from '../errors/repo-error.ts'
import {
  type ManifestId,
  type ManifestMetadata,
  type ManifestStore,
  manifestId,
} from '../manifest/manifest-store.ts'
import { parseSnapshotManifest, type SnapshotManifest } from './snapshot-manifest.ts'

/** Which snapshots are wanted; everything that is given must match. */
export interface ListSnapshotsOptions {
  host?: string
  userName?: string
  path?: string
  tags?: Readonly<Record<string, string>>
  /** True leaves checkpoints and cancelled uploads out. */
  completeOnly?: boolean
  signal?: AbortSignal | undefined
}

/** The snapshots of a repository, and the manifests that claim to be one and cannot be understood. */
export interface SnapshotList {
  /** By source, oldest first. */
  snapshots: SnapshotManifest[]
  unreadable: { id: ManifestId; error: unknown }[]
}

/** Lists snapshots. One that cannot be understood does not hide the others. Throws what the storage throws. */
export async function listSnapshots(
  manifests: ManifestStore,
  options: ListSnapshotsOptions = {},
): Promise<SnapshotList> {
  const found = await manifests.find(labelsOf(options), options.signal)
  const list: SnapshotList = { snapshots: [], unreadable: [] }
  for (const { id } of found) {
    const { payload } = await manifests.get(id, options.signal)
    try {
      list.snapshots.push(parseSnapshotManifest(id, payload))
    } catch (error) {
      list.unreadable.push({ id, error })
    }
  }
  if (options.completeOnly)
    list.snapshots = list.snapshots.filter(({ incomplete }) => incomplete === undefined)
  list.snapshots.sort(bySourceAndTime)
  return list
}

/**
 * One snapshot by its id or a beginning of it that no other snapshot shares. Throws MANIFEST_NOT_FOUND, or
 * INVALID_ARGUMENT when several begin so.
 */
export async function findSnapshot(
  manifests: ManifestStore,
  id: string,
  signal?: AbortSignal,
): Promise<SnapshotManifest> {
  const { id: whole } = await snapshotMetadata(manifests, id, signal)
  const { payload } = await manifests.get(whole, signal)
  return parseSnapshotManifest(whole, payload)
}

/** Like `findSnapshot`, without reading the snapshot, so that an unreadable one is found too. */
export async function snapshotMetadata(
  manifests: ManifestStore,
  id: string,
  signal?: AbortSignal,
): Promise<ManifestMetadata> {
  const all = await manifests.find({ type: 'snapshot' }, signal)
  const matching = id === '' ? [] : all.filter(other => other.id.startsWith(id))
  const [first] = matching
  if (first === undefined) throw noSnapshot(id)
  if (matching.length > 1 && first.id !== manifestId(id)) throw ambiguous(id, matching)
  return first
}

function labelsOf({ host, userName, path, tags }: ListSnapshotsOptions): Record<string, string> {
  return {
    ...tags,
    type: 'snapshot',
    ...(host !== undefined && { hostname: host }),
    ...(userName !== undefined && { username: userName }),
    ...(path !== undefined && { path }),
  }
}

function bySourceAndTime(a: SnapshotManifest, b: SnapshotManifest): number {
  return (
    compare(a.source.host, b.source.host) ||
    compare(a.source.userName, b.source.userName) ||
    compare(a.source.path, b.source.path) ||
    compare(a.startTime, b.startTime) ||
    compare(a.id, b.id)
  )
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function noSnapshot(id: string): RepoError {
  return new RepoError('MANIFEST_NOT_FOUND', {
    message: `there is no snapshot ${JSON.stringify(id)} in this repository`,
    hint: 'list the snapshots to see their ids',
    snapshotId: id,
  })
}

function ambiguous(id: string, matching: readonly ManifestMetadata[]): RepoError {
  return new RepoError('INVALID_ARGUMENT', {
    message: `the ids of ${matching.length} snapshots begin with ${JSON.stringify(id)}`,
    hint: `write more of the id: ${matching
      .slice(0, 5)
      .map(other => other.id)
      .join(', ')}`,
    snapshotId: id,
  })
}

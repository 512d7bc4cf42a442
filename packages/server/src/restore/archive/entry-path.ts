import type { GroupResource } from '../../item/item.ts'
import { ArchiveError, quoted } from './archive-error.ts'
import type { ArchiveLimits } from './archive-limits.ts'

/** An object, as far as its path tells. */
export interface ItemPath {
  readonly groupResource: GroupResource
  /** Empty for objects without one. */
  readonly namespace: string
  readonly name: string
  /** The folder of its version; empty: it has none, and is of the version that the cluster preferred. */
  readonly version: string
  /** The folder says that the cluster preferred this version. */
  readonly preferred: boolean
}

/**
 * A path as a key: without `.` and empty segments. Entries are never files on a disk, but whoever writes paths that would lead out of
 * a folder, or that are no text, is not to be trusted with the rest. Throws ArchiveError.
 */
export function entryKey(path: string, limits: Pick<ArchiveLimits, 'pathBytes' | 'pathDepth'>): string {
  if (Buffer.byteLength(path) > limits.pathBytes) {
    throw new ArchiveError(
      'ARCHIVE_TOO_LARGE',
      `a path has more than ${limits.pathBytes} bytes: ${quoted(path)}`,
    )
  }
  if (path.startsWith('/')) throw unsafe(path, 'is absolute')
  if (path.includes('\0')) throw unsafe(path, 'contains a zero')
  if (path.includes('\ufffd')) throw unsafe(path, 'is no UTF-8 text')
  const all = path.split('/')
  if (all.includes('..')) throw unsafe(path, 'leads out of its folder')
  const segments =
    all.includes('') || all.includes('.') ? all.filter(each => each !== '' && each !== '.') : all
  if (segments.length > limits.pathDepth) {
    throw new ArchiveError(
      'ARCHIVE_TOO_LARGE',
      `a path is nested more than ${limits.pathDepth} deep: ${quoted(path)}`,
    )
  }
  return segments === all ? path : segments.join('/')
}

function unsafe(path: string, what: string): ArchiveError {
  return new ArchiveError('ARCHIVE_PATH', `the path of an entry ${what}: ${quoted(path)}`)
}

const root = 'resources'
const inCluster = 'cluster'
const inNamespaces = 'namespaces'
const extension = '.json'
const preferredSuffix = '-preferredversion'

/** The object that an entry is, by its key; undefined for one that is no object. The inverse of `itemPaths`. */
export function parseItemPath(key: string): ItemPath | undefined {
  const segments = key.split('/')
  const [first, groupResource, third] = segments
  const file = segments.at(-1)
  if (first !== root || !groupResource || third === undefined || !file?.endsWith(extension)) return undefined
  const versioned = third !== inCluster && third !== inNamespaces
  const place = placeOf(segments.slice(versioned ? 3 : 2, -1))
  const name = file.slice(0, -extension.length)
  if (place === undefined || name === '') return undefined
  const preferred = versioned && third.endsWith(preferredSuffix)
  const version = preferred ? third.slice(0, -preferredSuffix.length) : third
  if (versioned && version === '') return undefined
  return {
    groupResource: groupResource as GroupResource,
    namespace: place,
    name,
    version: versioned ? version : '',
    preferred,
  }
}

/** The namespace that folders stand for. */
function placeOf(folders: readonly string[]): string | undefined {
  const [scope, namespace] = folders
  if (scope === inCluster) return folders.length === 1 ? '' : undefined
  return scope === inNamespaces && folders.length === 2 ? namespace : undefined
}

import { corrupt, RepoError } from '../errors/repo-error.ts'
import { goMap } from '../go-json/go-json.ts'
import { formatGoTime, type GoTime, parseGoTime } from '../go-json/go-time.ts'
import { type DirectoryEntry, directoryEntryValue, readDirectoryEntry } from './directory.ts'
import { printSource, type SourceInfo } from './source.ts'

/** What an upload counted. */
export interface SnapshotStats {
  totalSize: number
  excludedTotalSize: number
  fileCount: number
  cachedFiles: number
  nonCachedFiles: number
  dirCount: number
  excludedFileCount: number
  excludedDirCount: number
  ignoredErrorCount: number
  errorCount: number
}

/** One snapshot: its source, its time, and the entry of its root. */
export interface SnapshotManifest {
  /** The manifest's id; empty before it is stored. */
  id: string
  source: SourceInfo
  description: string
  startTime: GoTime
  endTime: GoTime
  stats: SnapshotStats
  /** Absent when complete; else `checkpoint`, `canceled` or `limit reached`. */
  incomplete?: string
  rootEntry: DirectoryEntry
  tags: Record<string, string>
  /** Any pin keeps the snapshot from being expired by retention. */
  pins: string[]
  /** Fields that this version does not know; written back as they are. */
  unknown?: Record<string, unknown>
}

const knownFields = new Set([
  ...['id', 'source', 'description', 'startTime', 'endTime', 'stats', 'incomplete', 'rootEntry', 'tags'],
  ...['storageStats', 'pins'],
])

/** All counters at zero, in stored order. */
export function emptyStats(): SnapshotStats {
  return {
    totalSize: 0,
    excludedTotalSize: 0,
    fileCount: 0,
    cachedFiles: 0,
    nonCachedFiles: 0,
    dirCount: 0,
    excludedFileCount: 0,
    excludedDirCount: 0,
    ignoredErrorCount: 0,
    errorCount: 0,
  }
}

/**
 * Reads the payload of a snapshot manifest.
 * Throws RepoError CORRUPT when it has no root entry or a field of the wrong type.
 */
export function parseSnapshotManifest(id: string, payload: unknown): SnapshotManifest {
  try {
    const value = payload as Record<string, unknown>
    const source = (value.source ?? {}) as Record<string, unknown>
    const manifest: SnapshotManifest = {
      id,
      source: { host: text(source, 'host'), userName: text(source, 'userName'), path: text(source, 'path') },
      description: text(value, 'description'),
      startTime: parseGoTime(text(value, 'startTime')),
      endTime: parseGoTime(text(value, 'endTime')),
      stats: readStats((value.stats ?? {}) as Record<string, unknown>),
      rootEntry: readDirectoryEntry(value.rootEntry as Record<string, unknown>),
      tags: { ...(value.tags as Record<string, string> | null | undefined) },
      pins: [...((value.pins ?? []) as string[])],
    }
    if (text(value, 'incomplete') !== '') manifest.incomplete = text(value, 'incomplete')
    const unknown = Object.entries(value).filter(([name]) => !knownFields.has(name))
    if (unknown.length > 0) manifest.unknown = Object.fromEntries(unknown)
    return manifest
  } catch (cause) {
    throw corrupt(`The snapshot manifest ${id} cannot be understood`, {
      snapshotId: id,
      hint: 'Delete this snapshot if no other copy of the repository has a better one',
      cause,
    })
  }
}

/** The payload to store for a snapshot; its id is never part of it. */
export function snapshotPayload(manifest: SnapshotManifest): Record<string, unknown> {
  const { host, userName, path } = manifest.source
  return {
    id: '',
    source: { host, userName, path },
    description: manifest.description,
    startTime: formatGoTime(manifest.startTime),
    endTime: formatGoTime(manifest.endTime),
    stats: { ...emptyStats(), ...manifest.stats },
    ...(manifest.incomplete && { incomplete: manifest.incomplete }),
    rootEntry: directoryEntryValue(manifest.rootEntry),
    ...(Object.keys(manifest.tags).length > 0 && { tags: goMap(manifest.tags) }),
    ...(manifest.pins.length > 0 && { pins: manifest.pins }),
    ...manifest.unknown,
  }
}

/** The labels that find all snapshots of a source. */
export function sourceLabels(source: SourceInfo): Record<string, string> {
  return {
    type: 'snapshot',
    hostname: source.host,
    ...(source.userName !== '' && { username: source.userName }),
    ...(source.path !== '' && { path: source.path }),
  }
}

/**
 * The labels to store a snapshot under: its source and every tag.
 * Throws RepoError INVALID_ARGUMENT for an incomplete source or a tag named like a source label.
 */
export function snapshotLabels(manifest: Pick<SnapshotManifest, 'source' | 'tags'>): Record<string, string> {
  const { source, tags } = manifest
  if (source.host === '' || source.userName === '' || source.path === '') {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `The snapshot source ${printSource(source)} lacks a host, a user or a path`,
      hint: 'Name all three: user@host:path',
    })
  }
  const labels = sourceLabels(source)
  for (const [key, value] of Object.entries(tags)) {
    if (key in labels) {
      throw new RepoError('INVALID_ARGUMENT', {
        message: `The tag ${JSON.stringify(key)} has the name of a label that every snapshot carries`,
        hint: 'Choose another name for the tag',
      })
    }
    labels[key] = value
  }
  return labels
}

function readStats(value: Record<string, unknown>): SnapshotStats {
  const stats = emptyStats()
  for (const name of Object.keys(stats) as (keyof SnapshotStats)[]) stats[name] = Number(value[name] ?? 0)
  return stats
}

function text(value: Record<string, unknown>, name: string): string {
  const field = value[name] ?? ''
  if (typeof field !== 'string') throw new TypeError(`${name} is not a string`)
  return field
}

import { formatGoTime } from '../go-json/go-time.ts'
import type { DirectoryEntry } from '../snapshot/directory.ts'
import { unixModeFromGo } from '../snapshot/go-file-mode.ts'
import type { SnapshotManifest } from '../snapshot/snapshot-manifest.ts'
import { printSource } from '../snapshot/source.ts'
import { printable, printBytes, printTime } from './printable.ts'

/** A snapshot as JSON output shows it. */
export function snapshotDocument(snapshot: SnapshotManifest): Record<string, unknown> {
  const { id, source, description, startTime, endTime, incomplete, stats, rootEntry, tags, pins } = snapshot
  return {
    id,
    source,
    description,
    startTime: formatGoTime(startTime),
    endTime: formatGoTime(endTime),
    incomplete,
    rootObject: rootEntry.obj,
    size: sizeOf(rootEntry),
    files: rootEntry.summary?.files ?? stats.fileCount,
    failed: rootEntry.summary?.numFailed ?? stats.errorCount,
    tags,
    pins,
  }
}

/** A snapshot in one line. */
export function snapshotLine(snapshot: SnapshotManifest): string {
  const { id, source, startTime, incomplete, rootEntry } = snapshot
  const time = printTime(Number(startTime / 1_000_000n))
  const size = printBytes(sizeOf(rootEntry)).padStart(11)
  const remark = incomplete === undefined ? '' : ` (incomplete: ${printable(incomplete)})`
  return `${id}  ${time}  ${size}  ${printable(printSource(source))}${remark}`
}

/** An entry of a folder as JSON output shows it. */
export function entryDocument(entry: DirectoryEntry, path: string): Record<string, unknown> {
  return {
    path,
    type: entry.type,
    mode: `0${unixModeFromGo(entry.mode).toString(8)}`,
    size: sizeOf(entry),
    mtime: formatGoTime(entry.mtime),
    uid: entry.uid,
    gid: entry.gid,
    object: entry.obj,
  }
}

/** An entry of a folder in one line, like that of `ls -l` when `long`. */
export function entryLine(entry: DirectoryEntry, path: string, { long }: { long: boolean }): string {
  const name = `${printable(path)}${entry.type === 'd' ? '/' : ''}`
  if (!long) return name
  const owner = `${entry.uid}:${entry.gid}`.padStart(11)
  const size = String(sizeOf(entry)).padStart(13)
  return `${modeText(entry)} ${owner} ${size} ${printTime(Number(entry.mtime / 1_000_000n))} ${name}`
}

/** The bytes of a file, or of all files below a folder. */
export function sizeOf(entry: DirectoryEntry): number {
  return entry.summary?.size ?? entry.size
}

/** Type and permissions as `ls` prints them. */
export function modeText(entry: Pick<DirectoryEntry, 'type' | 'mode'>): string {
  const mode = unixModeFromGo(entry.mode)
  const letters = ['r', 'w', 'x', 'r', 'w', 'x', 'r', 'w', 'x'].map((letter, at) =>
    mode & (0o400 >> at) ? letter : '-',
  )
  if (mode & 0o4000) letters[2] = mode & 0o100 ? 's' : 'S'
  if (mode & 0o2000) letters[5] = mode & 0o010 ? 's' : 'S'
  if (mode & 0o1000) letters[8] = mode & 0o001 ? 't' : 'T'
  const type = { d: 'd', f: '-', s: 'l', '': '?' }[entry.type]
  return `${type}${letters.join('')}`
}

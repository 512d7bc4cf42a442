import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from './filesystem-errors.ts'
import { INCOMING, unsafeLink } from './filesystem-folders.ts'

export interface WalkOptions {
  /** A folder whose path was checked. */
  folder: string
  /** What the keys in it begin with: empty for a bucket, else ending with `/`. */
  keyPrefix: string
  /** Only entries whose name begins so, and what is below them. */
  namePrefix?: string
  signal?: AbortSignal | undefined
}

interface Entry {
  /** The name, with a slash for folders, so that sorting entries sorts keys. */
  name: string
  isFolder: boolean
}

/**
 * The keys of all files below a folder in the order of their bytes. Holds the names of one folder per level.
 * Folders that vanish meanwhile count as empty; links throw UNSAFE_KEY; sockets, pipes and devices are no objects.
 */
export async function* walkKeys(options: WalkOptions): AsyncGenerator<string> {
  for (const entry of await entriesOf(options)) {
    options.signal?.throwIfAborted()
    const key = options.keyPrefix + entry.name
    if (!entry.isFolder) yield key
    else yield* walkKeys({ folder: join(options.folder, entry.name), keyPrefix: key, signal: options.signal })
  }
}

/** The folders directly in a folder that hold at least one object, as keys ending with `/`, in order. */
export async function* walkFolders(options: WalkOptions): AsyncGenerator<string> {
  for (const entry of await entriesOf(options)) {
    options.signal?.throwIfAborted()
    const keyPrefix = options.keyPrefix + entry.name
    const inside = { folder: join(options.folder, entry.name), keyPrefix, signal: options.signal }
    if (entry.isFolder && (await holdsObjects(inside))) yield keyPrefix
  }
}

async function holdsObjects(options: WalkOptions): Promise<boolean> {
  for await (const _key of walkKeys(options)) return true
  return false
}

async function entriesOf({ folder, keyPrefix, namePrefix = '' }: WalkOptions): Promise<Entry[]> {
  const entries: (Entry & { order: string })[] = []
  for (const found of await readFolder(folder)) {
    if (!found.name.startsWith(namePrefix) || keyPrefix + found.name === INCOMING) continue
    if (found.isSymbolicLink()) throw unsafeLink(join(folder, found.name))
    if (!found.isFile() && !found.isDirectory()) continue
    const name = found.isDirectory() ? `${found.name}/` : found.name
    entries.push({ name, isFolder: found.isDirectory(), order: byteOrder(name) })
  }
  return entries.sort((a, b) => (a.order < b.order ? -1 : 1))
}

async function readFolder(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return []
    throw error
  }
}

/** A string that sorts as the UTF-8 bytes of the name do; UTF-16 order differs beyond the basic plane. */
function byteOrder(name: string): string {
  return Buffer.from(name).toString('latin1')
}

import type { Stats } from 'node:fs'
import { lstat, mkdir, open, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ObjectStoreError, portableKeyProblem } from '@lateen/plugin'
import { errnoOf } from './filesystem-errors.ts'

/**
 * Holds unfinished puts of a bucket. Not part of the key space. It lies in one of the six folders that Velero allows at the
 * top of a bucket, and does nothing with.
 */
export const INCOMING = 'metadata/.lateen-incoming'

/** The segments of a key that is safe to turn into a path. Throws UNSAFE_KEY for every other. */
export function safeSegments(key: string): string[] {
  const problem = portableKeyProblem(key)
  if (problem !== undefined) throw unsafe(`the key ${JSON.stringify(key)} is refused: ${problem}`)
  if (`${key}/`.startsWith(`${INCOMING}/`))
    throw unsafe(`the key ${JSON.stringify(key)} is refused: ${INCOMING} is reserved`)
  return key.split('/')
}

export function unsafe(reason: string, cause?: unknown): ObjectStoreError {
  return new ObjectStoreError('UNSAFE_KEY', { reason, cause })
}

/** A link could lead anywhere, so none below the root is followed, wherever it points today. */
export function unsafeLink(path: string): ObjectStoreError {
  return new ObjectStoreError('UNSAFE_KEY', {
    reason: `${path} is a symbolic link, which the filesystem store does not follow below its root`,
    hint: 'Replace it by a real folder or file (a bind mount works too), or point config.path at its target',
  })
}

/** What stands at a path, or undefined if nothing does. Throws UNSAFE_KEY for a symbolic link. */
export async function lookAt(path: string): Promise<Stats | undefined> {
  try {
    const stats = await lstat(path)
    if (stats.isSymbolicLink()) throw unsafeLink(path)
    return stats
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/**
 * The path of a key below a folder, having looked at every folder on the way. Undefined if one of them does
 * not exist or is a file, so that nothing can be there. Throws UNSAFE_KEY for links.
 */
export async function findPath(folder: string, segments: readonly string[]): Promise<string | undefined> {
  let path = folder
  for (const segment of segments.slice(0, -1)) {
    path = join(path, segment)
    if ((await lookAt(path))?.isDirectory() !== true) return undefined
  }
  return join(path, segments.at(-1) ?? '')
}

/** Makes the folders that a key needs, durably, and returns the key's path. Throws UNSAFE_KEY for links and files on the way. */
export async function makePath(folder: string, segments: readonly string[]): Promise<string> {
  let path = folder
  for (const segment of segments.slice(0, -1)) {
    path = join(path, segment)
    const stats = await lookAt(path)
    if (stats === undefined) await makeFolder(path)
    else if (!stats.isDirectory()) throw unsafe(`${path} is an object, so no key can lead through it`)
  }
  return join(path, segments.at(-1) ?? '')
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
  await syncFolder(dirname(path))
}

/** Makes the names in a folder durable: a rename or a new entry survives a power failure only after this. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Removes the folders of a path that are empty, from the inside out, and stops below `root`. */
export async function pruneFolders(path: string, root: string): Promise<void> {
  for (let folder = path; folder.length > root.length; folder = dirname(folder)) {
    try {
      await rmdir(folder)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') return
    }
  }
}

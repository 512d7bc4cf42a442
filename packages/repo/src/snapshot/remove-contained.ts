import { rmdirSync, unlinkSync } from 'node:fs'
import { RepoError, throwIfCancelled } from '../errors/repo-error.ts'
import type { ContainedFolder } from './contained-folder.ts'

interface Level {
  folder: ContainedFolder
  name: string | Buffer
  names: Buffer[]
}

/**
 * Removes a child and everything below it. Never follows a symlink, never enters another file system, needs no stack
 * and few descriptors whatever the depth. Returns how many things it removed. Throws at the first that resists.
 */
export function removeContained(
  parent: ContainedFolder,
  name: string | Buffer,
  signal?: AbortSignal,
): number {
  const stats = parent.lstat(name)
  if (stats === undefined) return 0
  if (!stats.isDirectory()) {
    unlinkSync(parent.at(name))
    return 1
  }
  return removeTree(parent, name, signal)
}

function removeTree(parent: ContainedFolder, top: string | Buffer, signal: AbortSignal | undefined): number {
  const levels: Level[] = [enter(parent, top)]
  let removed = 0
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      throwIfCancelled(signal)
      const name = level.names.pop()
      if (name === undefined) {
        levels.pop()
        leave(level, levels.at(-1)?.folder ?? parent)
        removed++
      } else if (level.folder.lstat(name)?.isDirectory()) {
        levels.push(enter(level.folder, name))
        // The way back up is found through `..`, so that depth costs no descriptors.
        if (levels.length > 1) level.folder.close()
      } else {
        unlinkSync(level.folder.at(name))
        removed++
      }
    }
  } finally {
    for (const { folder } of levels) folder.close()
  }
  return removed
}

function enter(parent: ContainedFolder, name: string | Buffer): Level {
  const folder = parent.openFolder(name)
  if (folder.device !== parent.device) {
    folder.close()
    throw new RepoError('UNSAFE_PATH', {
      message: `${JSON.stringify(name.toString())} is the mount point of another file system and is not deleted`,
      hint: 'unmount it, or restore without deleting extra files',
    })
  }
  try {
    return { folder, name, names: folder.names() }
  } catch (error) {
    folder.close()
    throw error
  }
}

function leave(level: Level, parent: ContainedFolder): void {
  try {
    level.folder.reopenParent(parent)
  } finally {
    level.folder.close()
  }
  rmdirSync(parent.at(level.name))
}

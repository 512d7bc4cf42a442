import type { Stats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'

/** A file of the plugins folder that is not used, and why. */
export interface SkippedFile {
  file: string
  reason: string
  hint: string
}

/** What is in the plugins folder. */
export interface FoundPrograms {
  /** Full paths, in the order in which their plugins run. */
  programs: readonly string[]
  skipped: readonly SkippedFile[]
}

/**
 * Looks for programs in the plugins folder and the folders in it, as Velero does: in the order of their names' bytes; symbolic links
 * count as programs and are not followed into folders. A folder that does not exist has none. Never rejects because of what it finds.
 */
export async function findPrograms(folder: string): Promise<FoundPrograms> {
  const names = await namesIn(folder)
  if (typeof names !== 'object') return { programs: [], skipped: [] }
  if ('reason' in names) return { programs: [], skipped: [names] }
  const found = await Promise.all(names.map(name => look(path.join(folder, name))))
  return {
    programs: found.flatMap(({ programs }) => programs),
    skipped: found.flatMap(({ skipped }) => skipped),
  }
}

async function namesIn(folder: string): Promise<string[] | SkippedFile | undefined> {
  try {
    const names = await readdir(folder)
    return names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  } catch (error) {
    return isMissing(error) ? undefined : unreadable(folder, error)
  }
}

async function look(file: string): Promise<FoundPrograms> {
  try {
    const stats = await lstat(file)
    if (stats.isDirectory()) return await findPrograms(file)
    const problem = programProblem(file, stats)
    if (problem === undefined) return { programs: [file], skipped: [] }
    return { programs: [], skipped: [{ file, ...problem }] }
  } catch (error) {
    return { programs: [], skipped: isMissing(error) ? [] : [unreadable(file, error)] }
  }
}

/** Why a file is not taken for a program, or undefined if it is. */
export function programProblem(
  file: string,
  stats: Pick<Stats, 'mode' | 'isFile' | 'isSymbolicLink'>,
): Omit<SkippedFile, 'file'> | undefined {
  if (!stats.isFile() && !stats.isSymbolicLink()) {
    return { reason: 'it is neither a file nor a folder', hint: 'Remove it from the plugins folder' }
  }
  const executable = (stats.mode & 0o111) !== 0 || path.extname(file).toLowerCase() === '.exe'
  if (executable) return undefined
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0')
  return { reason: `its mode ${mode} does not allow to run it`, hint: 'If it is a plugin, chmod 0755 it' }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function unreadable(file: string, error: unknown): SkippedFile {
  return {
    file,
    reason: `it cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    hint: 'Let the server read the plugins folder and what is in it',
  }
}

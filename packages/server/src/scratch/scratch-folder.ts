import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { scratchError } from './scratch-error.ts'

/** A folder of one piece of work, gone with all that is in it when disposed of. */
export interface ScratchFolder extends AsyncDisposable {
  readonly folder: string
}

/** Makes a folder below `parent`, named after the work that it is for. Throws what `scratchError` makes of a disk that does not take it. */
export async function createScratchFolder(parent: string, work: string): Promise<ScratchFolder> {
  const prefix = path.join(parent, `${work}-`)
  try {
    const folder = await mkdtemp(prefix)
    return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
  } catch (error) {
    throw scratchError(error, prefix)
  }
}

import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'

/**
 * Gives this process, and those that it starts from now on, a folder of their own for temporary files: a server ends what it finds there of
 * servers that were killed, and those of other test files would do so here. The path is short, because sockets are in it. Disposing removes
 * the folder and takes the setting back.
 */
export async function ownTemporaryFolder(): Promise<AsyncDisposable> {
  const before = process.env.TMPDIR
  const folder = await mkdtemp(path.join('/tmp', 'lateen-t-'))
  process.env.TMPDIR = folder
  return {
    async [Symbol.asyncDispose]() {
      if (before === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = before
      await rm(folder, { recursive: true, force: true })
    },
  }
}

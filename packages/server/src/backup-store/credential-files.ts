import { mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Credentials from secrets as files, which is how object stores and plugins take them. One file for each secret and
 * key, readable by this user alone.
 */
export interface CredentialFiles extends AsyncDisposable {
  /** Writes the bytes and returns the path. A reader of that path sees the old bytes or the new ones. */
  write(secret: { name: string; key: string }, bytes: Uint8Array): Promise<string>
}

/** Keeps the files in a folder, made if missing. Disposing removes the files, and the folder if it was made here. */
export function createCredentialFiles(folder: string, randomName: () => string): CredentialFiles {
  const written = new Set<string>()
  let madeFolder = false
  return {
    async write({ name, key }, bytes) {
      madeFolder ||= (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined
      // Names of secrets contain no underscore, so no two pairs share a file.
      const path = join(folder, `${name}_${key}`)
      const unfinished = `${path}.${randomName()}`
      written.add(path)
      try {
        await writeFile(unfinished, bytes, { mode: 0o600 })
        await rename(unfinished, path)
      } catch (error) {
        await rm(unfinished, { force: true })
        throw error
      }
      return path
    },
    async [Symbol.asyncDispose]() {
      for (const path of written) await rm(path, { force: true })
      // Whatever else is in there by now is not ours to remove.
      if (madeFolder) await rmdir(folder).catch(() => undefined)
    },
  }
}

import { lstat, readdir, rm } from 'node:fs/promises'
import path from 'node:path'

export interface CredentialFolderOptions {
  /** Where the folders of servers are. */
  parent: string
  /** Of this process. */
  pid: number
  /** Tells this process from an earlier one with the same number: in a pod, servers all have the same. Letters and digits. */
  begun: string
  isAlive(pid: number): boolean
}

/**
 * The path of a folder that only this server uses, which is not made. The folders of servers that were killed are removed, with the
 * credentials in them. Throws what the file system throws, except for folders that cannot be removed.
 */
export async function claimCredentialFolder(options: CredentialFolderOptions): Promise<string> {
  const { parent, pid, begun, isAlive } = options
  for (const name of await namesIn(parent)) {
    const [, owner = '', since = ''] = /^lateen-credentials-(\d+)-(\w+)$/.exec(name) ?? []
    const isAbandoned = Number(owner) === pid ? since !== begun : !isAlive(Number(owner))
    const folder = path.join(parent, name)
    if (owner === '' || !isAbandoned || !(await isOurs(folder))) continue
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
  }
  return path.join(parent, `lateen-credentials-${pid}-${begun}`)
}

/** A folder that does not exist is made when the first file is written. */
async function namesIn(parent: string): Promise<string[]> {
  return readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

/** Anyone may put links and folders into the folder for temporary files. */
async function isOurs(folder: string): Promise<boolean> {
  const stats = await lstat(folder).catch(() => undefined)
  return stats?.isDirectory() === true && stats.uid === process.getuid?.()
}

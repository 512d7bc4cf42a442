import { mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'

/** The folder of one server, until it is disposed. */
export interface ServerScratch extends AsyncDisposable {
  readonly folder: string
}

export interface ServerScratchOptions {
  /** Where the folders of servers are; made when it does not exist. */
  parent: string
  /** Of this process, which runs no other server. */
  pid: number
  isAlive(pid: number): boolean
}

/**
 * Makes a folder that only this server uses, and removes what servers left behind that were killed: in a pod they have the same
 * process id and scratch outlives them, so each would make it fuller. Throws what the file system throws.
 */
export async function createServerScratch({
  parent,
  pid,
  isAlive,
}: ServerScratchOptions): Promise<ServerScratch> {
  await mkdir(parent, { recursive: true })
  for (const name of await readdir(parent)) {
    const owner = Number(/^server-(\d+)$/.exec(name)?.[1] ?? Number.NaN)
    if (Number.isNaN(owner) || (owner !== pid && isAlive(owner))) continue
    await rm(path.join(parent, name), { recursive: true, force: true })
  }
  const folder = path.join(parent, `server-${pid}`)
  await mkdir(folder, { mode: 0o700 })
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

/** Whether there is a process with this id, whoever runs it. */
export function processIsAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

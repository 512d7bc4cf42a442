import { readdir, readFile } from 'node:fs/promises'

/** A process by number and start time, so that a reused number is not taken for it. */
export interface ProcessIdentity {
  pid: number
  startTime: string
}

export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The name in field 2 may hold spaces and brackets: count from behind it. Start time is field 22.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (!fields || fields[0] === 'Z') return undefined
  return { pid, startTime: fields[19] ?? '' }
}

export async function isAlive(process: ProcessIdentity): Promise<boolean> {
  return (await identify(process.pid))?.startTime === process.startTime
}

/** The processes that were started for the cluster in `folder` and those they started with the same environment. */
export async function processesOf(folder: string): Promise<number[]> {
  const marker = `LATEEN_CLUSTER=${folder}`
  const found: number[] = []
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const environment = await readFile(`/proc/${entry}/environ`, 'utf8').catch(() => '')
    if (environment.split('\0').includes(marker)) found.push(Number(entry))
  }
  return found
}

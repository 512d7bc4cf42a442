import { readdir, readFile } from 'node:fs/promises'
import { setInterval } from 'node:timers/promises'

/** Memory of a server, at its highest. */
export interface MemoryPeak {
  /** Of the server's own process. */
  serverMiB: number
  /** Of the server and all processes that it started, at one moment. */
  treeMiB: number
}

/** Looks at a process and its descendants now and then until it is stopped: often enough for what grows over seconds. */
export function watchMemory(pid: number): { stop(): Promise<MemoryPeak> } {
  const ending = new AbortController()
  let treeMiB = 0
  const watching = (async () => {
    for await (const _ of setInterval(500, undefined, { signal: ending.signal })) {
      treeMiB = Math.max(treeMiB, await residentMiB(pid))
    }
  })().catch(error => {
    if (!ending.signal.aborted) throw error
  })
  return {
    async stop() {
      const serverMiB = (await statusOf(pid, 'VmHWM')) / 1024
      ending.abort()
      await watching
      return { serverMiB, treeMiB: Math.max(treeMiB, serverMiB) }
    },
  }
}

async function residentMiB(root: number): Promise<number> {
  const parents = new Map<number, number>()
  for (const name of await readdir('/proc')) {
    if (/^\d+$/.test(name)) parents.set(Number(name), await statusOf(Number(name), 'PPid'))
  }
  const belongs = (pid: number): boolean =>
    pid === root || (parents.has(pid) && belongs(parents.get(pid) ?? 0))
  let kibibytes = 0
  for (const pid of parents.keys()) if (belongs(pid)) kibibytes += await statusOf(pid, 'VmRSS')
  return kibibytes / 1024
}

/** A number in `/proc/<pid>/status`; 0 when the process has gone. */
async function statusOf(pid: number, field: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
}

import { readdir, readFile } from 'node:fs/promises'

export interface MoversWatch {
  /** The most memory that any mover had resident, in MiB. Ends the watch. */
  stop(): Promise<number>
}

const EVERY_MS = 50

/** A process is what it is called when it was looked at this often: containers begin as another program. */
const LOOKS = 40

/** Watches all processes of this machine that are movers of volumes, of either program. */
export function watchMovers(): MoversWatch {
  let peak = 0
  let isOver = false
  const looks = new Map<string, number>()
  const movers = new Set<string>()
  const isNewMover = async (pid: string) => {
    const seen = looks.get(pid) ?? 0
    looks.set(pid, seen + 1)
    return seen < LOOKS && (await isMover(pid))
  }
  const look = async () => {
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue
      if (!movers.has(pid) && (await isNewMover(pid))) movers.add(pid)
      if (movers.has(pid)) peak = Math.max(peak, await peakOf(pid))
    }
  }
  const watching = (async () => {
    while (!isOver) {
      await look()
      await new Promise(resolve => setTimeout(resolve, EVERY_MS))
    }
  })()
  return {
    async stop() {
      isOver = true
      await watching
      return peak
    },
  }
}

async function isMover(pid: string): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return /\0(pod-volume|data-mover)\0(backup|restore)\0/.test(command)
}

/** The most that a process ever had, in MiB; 0 when it is gone. */
async function peakOf(pid: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024
}

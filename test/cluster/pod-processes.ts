import { readdir, readFile } from 'node:fs/promises'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

/** Which processes of pods are meant. */
export interface PodProcesses {
  /** On whose node they run. */
  cluster: Pick<Cluster, 'name'>
  /** That the pod's environment names as Lateen's own. */
  namespace: string
  /** Of their command lines, the arguments joined by blanks. */
  command: RegExp
}

/** The server's, which is the only program of its pod. */
export const serverCommand = /\/(velero|lateen) server( |$)/
export const nodeAgentCommand = / node-agent server( |$)/
/** Of one mover, or of any. */
export const moverCommand = (name = '') =>
  new RegExp(` --(pod-volume-(backup|restore)|data-(upload|download))=${name}${name && '( |$)'}`)

/** The numbers of processes in pods of a cluster's node, as this machine sees them. */
export async function podProcesses({ cluster, namespace, command }: PodProcesses): Promise<number[]> {
  const found = await Promise.all(
    (await readdir('/proc'))
      .filter(entry => /^\d+$/.test(entry))
      .map(async entry => {
        const line = (await read(entry, 'cmdline')).replaceAll('\0', ' ').trimEnd()
        if (!command.test(line)) return []
        const isThere = (await read(entry, 'cgroup')).includes(`/lateen-${cluster.name}/`)
        const environment = isThere ? (await read(entry, 'environ')).split('\0') : []
        return environment.includes(`VELERO_NAMESPACE=${namespace}`) ? [Number(entry)] : []
      }),
  )
  return found.flat()
}

function read(pid: string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
}

/** Waits until there is such a process and sends it a signal. Returns its number. */
export async function signalProcess(which: PodProcesses, signal: NodeJS.Signals): Promise<number> {
  return waitUntil(
    async () => {
      const [pid] = await podProcesses(which)
      return pid !== undefined && sent(pid, signal) && pid
    },
    {
      timeoutMs: 120_000,
      everyMs: 20,
      failure: () => new Error(`no process is like ${which.command} in the namespace ${which.namespace}`),
    },
  )
}

/** Sends a signal; false when the process is gone. */
export function sent(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

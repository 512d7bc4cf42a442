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
  const found: number[] = []
  for (const { pid, line } of await commandLines()) {
    if (!command.test(line)) continue
    const isThere = (await read(pid, 'cgroup')).includes(`/lateen-${cluster.name}/`)
    const environment = isThere ? (await read(pid, 'environ')).split('\0') : []
    if (environment.includes(`VELERO_NAMESPACE=${namespace}`)) found.push(Number(pid))
  }
  return found
}

let looking: ReturnType<typeof readCommandLines> | undefined

/** One look serves all who ask meanwhile: many of them would take longer than a mover lives. */
function commandLines(): ReturnType<typeof readCommandLines> {
  looking ??= readCommandLines().finally(() => {
    looking = undefined
  })
  return looking
}

async function readCommandLines(): Promise<{ pid: string; line: string }[]> {
  const pids = (await readdir('/proc')).filter(entry => /^\d+$/.test(entry))
  const line = async (pid: string) => (await read(pid, 'cmdline')).replaceAll('\0', ' ').trimEnd()
  return Promise.all(pids.map(async pid => ({ pid, line: await line(pid) })))
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
      // The kubelet may wait for two minutes before it tries again to start a pod.
      timeoutMs: 300_000,
      everyMs: 20,
      failure: () => new Error(`no process is like ${which.command} in the namespace ${which.namespace}`),
    },
  )
}

/** Kills all that runs of a pod, its sandbox too, as when its node starts anew. */
export async function killPod({ cluster }: Pick<PodProcesses, 'cluster'>, podUid: string): Promise<void> {
  let killed = 0
  for (const { pid } of await commandLines()) {
    const group = await read(pid, 'cgroup')
    const isOfPod = group.includes(`/lateen-${cluster.name}/`) && group.includes(`/pod${podUid}/`)
    if (isOfPod && sent(Number(pid), 'SIGKILL')) killed++
  }
  if (killed === 0) throw new Error(`nothing of the pod ${podUid} runs on this machine`)
}

/** Does something while the node agent stands still: nobody begins a move or brings one to its end. */
export async function whileAgentStands<T>(
  where: Pick<PodProcesses, 'cluster' | 'namespace'>,
  act: () => Promise<T>,
): Promise<T> {
  const pid = await signalProcess({ ...where, command: nodeAgentCommand }, 'SIGSTOP')
  try {
    return await act()
  } finally {
    sent(pid, 'SIGCONT')
  }
}

/** Sends a signal; false when the process is gone. */
export function sent(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

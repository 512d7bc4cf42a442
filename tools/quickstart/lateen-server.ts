import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Cluster } from '../cluster/cluster.ts'
import { waitUntil } from '../cluster/wait-until.ts'

/** The `lateen` command of this checkout. */
export const launcher = path.join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'lateen.js')

/** A server on this machine. */
export interface LateenServer {
  readonly pid: number
  readonly logFile: string
}

const START_MS = 60_000

/**
 * Starts Lateen's server as a process that outlives this one. It counts as a part of the cluster: whoever takes the cluster down takes it
 * along. Resolves once its controllers run. Throws with the end of its log if it does not come to that.
 */
export async function startLateenServer({ plan, kubeconfigPath }: Cluster): Promise<LateenServer> {
  const logFile = path.join(plan.folder, 'lateen-server.log')
  const log = openSync(logFile, 'w')
  const env = { ...process.env, KUBECONFIG: kubeconfigPath, LATEEN_CLUSTER: plan.folder }
  const args = [launcher, 'server', '--log-format=json', '--metrics-address=127.0.0.1:0']
  const child = spawn(process.execPath, args, { env, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  child.unref()
  await started(child, logFile)
  return { pid: child.pid ?? 0, logFile }
}

async function started(child: ChildProcess, logFile: string): Promise<void> {
  const said = () => readFile(logFile, 'utf8')
  const failure = async () => new Error(`the server did not start: ${(await said()).trim().slice(-1_000)}`)
  await waitUntil(
    async () => {
      if (child.exitCode !== null) throw await failure()
      return (await said()).includes('"controllers started"')
    },
    { timeoutMs: START_MS, failure },
  )
}

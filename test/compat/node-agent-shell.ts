import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { tool } from '../../tools/binaries/tool.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'

/** A program of Node that runs in the container of the node agent, which has no shell. */
export interface AgentProgram {
  /** What it says, line by line. */
  line(): Promise<string>
  /** Waits until it ends. Throws with what it says when it fails. */
  ended(): Promise<string>
}

/** Starts one in the only node agent of an installation. */
export async function inNodeAgent(
  { kubeconfigPath }: Pick<Cluster, 'kubeconfigPath'>,
  namespace: string,
  script: string,
): Promise<AgentProgram> {
  const node = ['exec', '-i', 'ds/node-agent', '--', '/usr/local/bin/node', '--input-type=commonjs', '-']
  const child = spawn(await tool('kubectl'), ['--kubeconfig', kubeconfigPath, '-n', namespace, ...node])
  child.stdin.end(script)
  const failed = child.stderr.setEncoding('utf8').toArray()
  const closed = once(child, 'close')
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  reader.on('line', line => lines.push(line))
  return {
    async line() {
      if (lines.length === 0) await Promise.race([once(reader, 'line'), closed])
      return lines[0] ?? ''
    },
    async ended() {
      const [status] = await closed
      if (status === 0) return lines.join('\n')
      throw new Error(`the program in the node agent failed: ${(await failed).join('')}`)
    },
  }
}

/** Runs restic in a folder of the node agent's file system, as its predecessors did, and returns what it says. */
export async function resticInNodeAgent(
  cluster: Pick<Cluster, 'kubeconfigPath'>,
  namespace: string,
  call: { args: readonly string[]; cwd?: string; env: Readonly<Record<string, string>> },
): Promise<string> {
  const { args, cwd = '/', env } = call
  const options = { cwd, env, encoding: 'utf8', maxBuffer: 2 ** 26 }
  const program = await inNodeAgent(
    cluster,
    namespace,
    `const { spawnSync } = require('node:child_process')
     const { status, stdout, stderr, error } = spawnSync('/usr/bin/restic', ${JSON.stringify(args)}, ${JSON.stringify(options)})
     process.stdout.write(stdout ?? '')
     process.stderr.write(stderr ?? String(error))
     process.exitCode = status ?? 1`,
  )
  return program.ended()
}

/** Waits in the node agent for a restic that restores, and sends it a signal. Resolves once it is on the watch. */
export async function signalRestic(
  cluster: Pick<Cluster, 'kubeconfigPath'>,
  namespace: string,
  signal: NodeJS.Signals,
): Promise<AgentProgram> {
  const program = await inNodeAgent(
    cluster,
    namespace,
    `const { readdirSync, readFileSync } = require('node:fs')
     const isRestore = pid => {
       try {
         const [program, command] = readFileSync('/proc/' + pid + '/cmdline', 'utf8').split('\\0')
         return program.endsWith('restic') && command === 'restore'
       } catch {
         return false
       }
     }
     console.log('watching')
     const end = Date.now() + 60_000
     const look = () => {
       const pid = readdirSync('/proc').filter(name => /^\\d+$/.test(name)).find(isRestore)
       if (pid !== undefined) process.kill(Number(pid), '${signal}')
       else if (Date.now() > end) throw new Error('no restic restores')
       else setTimeout(look, 5)
     }
     look()`,
  )
  if ((await program.line()) !== 'watching') await program.ended()
  return program
}

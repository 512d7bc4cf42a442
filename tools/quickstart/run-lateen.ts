import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { launcher } from './lateen-server.ts'
import type { Tell } from './step-teller.ts'

export interface RunLateenOptions {
  kubeconfig: string
  /** Hears the command line and what the command prints, as it comes. */
  tell: Tell
}

/** Runs `lateen` as a user would and resolves to what it printed. Throws what it said last when it fails. */
export async function runLateen(
  args: readonly string[],
  { kubeconfig, tell }: RunLateenOptions,
): Promise<string> {
  tell(`$ lateen ${args.join(' ')}`)
  const env = { ...process.env, KUBECONFIG: kubeconfig }
  const child = spawn(process.execPath, [launcher, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const complaints = text(child.stderr)
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    tell(line)
  }
  const status = await exited
  if (status === 0) return lines.join('\n')
  const said = (await complaints).trim() || lines.at(-1) || 'it said nothing'
  throw new Error(`lateen ${args.slice(0, 2).join(' ')} ended with exit code ${status}: ${said}`)
}

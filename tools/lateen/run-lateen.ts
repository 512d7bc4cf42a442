import { spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

/** The `lateen` command of this checkout. */
const launcher = path.join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'lateen.js')

export interface RunLateenOptions {
  kubeconfig: string
  /** Hears the command line and what the command prints, as it comes. */
  tell(line: string): void
  /** Ends the command. */
  signal?: AbortSignal | undefined
}

/** Runs `lateen` as a user would and resolves to what it printed. Throws what it said last when it fails, and the signal's reason. */
export async function runLateen(
  args: readonly string[],
  { kubeconfig, tell, signal }: RunLateenOptions,
): Promise<string> {
  signal?.throwIfAborted()
  tell(`$ lateen ${args.join(' ')}`)
  const env = { ...process.env, KUBECONFIG: kubeconfig }
  const child = spawn(process.execPath, [launcher, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(signal === undefined ? {} : { signal, killSignal: 'SIGKILL' }),
  })
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const complaints = text(child.stderr)
  const lines: string[] = []
  const [status] = await Promise.all([
    exited,
    eachLine(child.stdout, line => {
      lines.push(line)
      tell(line)
    }),
  ]).catch(error => {
    signal?.throwIfAborted()
    throw error
  })
  if (status === 0) return lines.join('\n')
  const said = (await complaints).trim() || lines.at(-1) || 'it said nothing'
  throw new Error(`lateen ${args.slice(0, 2).join(' ')} ended with exit code ${status}: ${said}`)
}

async function eachLine(stream: NodeJS.ReadableStream, take: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: stream })) take(line)
}

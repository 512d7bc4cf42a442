import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'

const program = path.join(import.meta.dirname, 'main.ts')

/** A driver that runs by itself. */
export interface DriverProcess extends AsyncDisposable {
  readonly socket: string
  readonly stateFolder: string
  /** Kills it without warning and waits until it is gone. */
  kill(): Promise<void>
  /** Starts it anew on the same state. */
  start(): Promise<void>
}

/** Starts a driver whose state and socket are in a folder. What it mounts is seen by nobody else and goes with it. */
export async function startDriver(folder: string): Promise<DriverProcess> {
  const socket = path.join(folder, 'csi.sock')
  const stateFolder = path.join(folder, 'state')
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    const flags = { name: 'csi.lateen.dev', 'node-id': 'here', state: stateFolder, socket }
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
    child = spawn('unshare', ['--mount', process.execPath, program, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await served(child)
  }

  async function kill(): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  await start()
  return { socket, stateFolder, start, kill, [Symbol.asyncDispose]: kill }
}

/** Waits for the line by which a driver says that it serves, and lets the others pass. */
async function served(child: ChildProcess): Promise<void> {
  if (child.stdout === null) throw new Error('the driver has no output')
  const lines = createInterface({ input: child.stdout })
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close')])
  if (line === undefined) throw new Error('the driver ended before it served')
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { type Handshake, magicCookie, parseHandshake } from '@lateen/plugin'
import { connectPlugin, type PluginConnection } from '@lateen/plugin/client'

export interface PluginProcessOptions {
  command: string
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
}

/** A plugin program that runs, started as hosts start it. Disposing ends it. */
export interface PluginProcess extends AsyncDisposable {
  readonly child: ChildProcess
  readonly handshake: Handshake
  readonly host: PluginConnection
  /** What came on standard error. */
  readonly log: readonly string[]
  /** Asks it to end, and resolves to its exit code. */
  shutdown(): Promise<number | null>
}

/** Starts a plugin program and connects to it. Rejects with what it said when it says no handshake. */
export async function startPluginProcess({
  command,
  args = [],
  env = {},
}: PluginProcessOptions): Promise<PluginProcess> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-plugin-'))
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      PLUGIN_UNIX_SOCKET_DIR: folder,
      PLUGIN_PROTOCOL_VERSIONS: '2',
      [magicCookie.variable]: magicCookie.value,
      ...env,
    },
  })
  const log: string[] = []
  createInterface({ input: child.stderr }).on('line', line => log.push(line))
  const exited = once(child, 'close')
  const end = async () => {
    child.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const lines = createInterface({ input: child.stdout })
    const first = await Promise.race([once(lines, 'line'), exited.then(() => [''])])
    const handshake = parseHandshake(String(first[0]))
    const host = await connectPlugin({ handshake, program: path.basename(command) })
    return {
      ...{ child, handshake, host, log },
      async shutdown() {
        await host.shutdown(10_000)
        host.close()
        await exited
        return child.exitCode
      },
      async [Symbol.asyncDispose]() {
        host.close()
        await end()
      },
    }
  } catch (error) {
    await end()
    throw new Error(`${command} did not start: ${log.join('\n')}`, { cause: error })
  }
}

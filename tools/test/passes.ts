import { spawn } from 'node:child_process'
import path from 'node:path'
import { text } from 'node:stream/consumers'

const root = path.join(import.meta.dirname, '..', '..')

/** A tool of the workspace found fault; the message holds its whole output. */
export class ToolFailedError extends Error {
  readonly code = 'TOOL_FAILED'
  readonly hint: string
  override name = 'ToolFailedError'

  constructor(command: string, outcome: string, output: string) {
    super(`${command} ${outcome}\n${output}`)
    this.hint = `run npx ${command} in the workspace root`
  }
}

/**
 * Runs a tool from `node_modules/.bin` in the workspace root. Resolves when it exits with 0, otherwise rejects with
 * ToolFailedError; rejects with the system's error when the tool is not installed.
 */
export async function passes(tool: string, args: string[], cwd = root): Promise<void> {
  const child = spawn(path.join(root, 'node_modules', '.bin', tool), args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = Promise.withResolvers<string | undefined>()
  child.once('error', exit.reject)
  child.once('close', (code, signal) =>
    exit.resolve(code === 0 ? undefined : code === null ? `was killed by ${signal}` : `exited with ${code}`),
  )
  const [outcome, out, err] = await Promise.all([exit.promise, text(child.stdout), text(child.stderr)])
  if (outcome !== undefined) throw new ToolFailedError([tool, ...args].join(' '), outcome, out + err)
}

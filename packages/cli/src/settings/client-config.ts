import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { CliError } from '../cli-error.ts'

/** The client configuration: keys such as `namespace`, `features`, `cacert` and `colorized`, shared with `velero`. */
export type ClientConfig = Readonly<Record<string, unknown>>

/** Where `velero` keeps it too. */
export function clientConfigPath(home: string): string {
  return path.join(home, '.config', 'velero', 'config.json')
}

/** Reads the configuration; empty when there is no file. Throws a CliError when it is unreadable or no JSON object. */
export async function readClientConfig(home: string): Promise<ClientConfig> {
  const file = clientConfigPath(home)
  let text: string
  try {
    // One small file at the start of every command: waiting for a thread to read it would take longer.
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new CliError(
      'CONFIG',
      `the client configuration ${file} cannot be read: ${(cause as Error).message}`,
      { cause },
    )
  }
  return parseClientConfig(text, file)
}

/** Parses the file's text; `file` is for the message of the CliError. */
export function parseClientConfig(text: string, file: string): ClientConfig {
  let config: unknown
  try {
    config = JSON.parse(text)
  } catch (cause) {
    throw brokenConfig(file, (cause as Error).message, cause)
  }
  if (config === null) return {}
  if (typeof config !== 'object' || Array.isArray(config)) throw brokenConfig(file, 'it is not a JSON object')
  return config as ClientConfig
}

function brokenConfig(file: string, reason: string, cause?: unknown): CliError {
  return new CliError('CONFIG', `the client configuration ${file} is broken: ${reason}`, {
    hint: 'repair or delete the file',
    cause,
  })
}

/** Replaces the file whole: a reader sees the old or the new one, and a link to it stays a link. */
export async function writeClientConfig(home: string, config: ClientConfig): Promise<void> {
  const file = await followLink(clientConfigPath(home))
  const unfinished = `${file}.${randomBytes(6).toString('hex')}`
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
    const handle = await open(unfinished, 'wx', 0o600)
    try {
      await handle.writeFile(`${JSON.stringify(config)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(unfinished, file)
  } catch (cause) {
    await rm(unfinished, { force: true }).catch(() => {})
    throw new CliError(
      'CONFIG',
      `the client configuration ${file} cannot be written: ${(cause as Error).message}`,
      {
        cause,
      },
    )
  }
}

async function followLink(file: string): Promise<string> {
  try {
    return await realpath(file)
  } catch {
    return file
  }
}

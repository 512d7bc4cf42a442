import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** Writes an executable file that becomes another program, and returns its path. Arguments of the host follow those given. */
export async function writeScriptProgram(
  file: string,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const lines = [
    '#!/bin/sh',
    // Velero starts what a program says that it is.
    'export LATEEN_PLUGIN_COMMAND="$0"',
    // What is set for the server's own Node is not meant for others.
    'unset NODE_OPTIONS',
    ...Object.entries(env).map(([name, value]) => `export ${name}='${value}'`),
    `exec ${command.map(word => `'${word}'`).join(' ')} "$@"`,
    '',
  ]
  await writeFile(file, lines.join('\n'))
  await chmod(file, 0o755)
  return path.resolve(file)
}

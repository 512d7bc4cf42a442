import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** How a program is started that is no file of its own. */
export interface Launch {
  /** The program and its first arguments. Those of the host follow. */
  command: readonly string[]
  /** Beside what the host sets. */
  env?: Readonly<Record<string, string>>
}

/** A plugins folder for a test, and another one in which programs note what they are asked. */
export interface PluginFolder extends AsyncDisposable {
  readonly path: string
  /** Programs get it as FAULTY_NOTES. */
  readonly notes: string
  /** Puts a file into the folder. */
  add(name: string, content: string, mode?: number): Promise<string>
  /** Puts a script into the folder that becomes another program. */
  launcher(name: string, launch: Launch): Promise<string>
  /** A launcher of a TypeScript file beside the tests, or elsewhere. */
  script(name: string, source: string, args?: readonly string[]): Promise<string>
  /** What programs have noted so far: the process and what it was asked. */
  noted(): Promise<{ pid: number; what: string }[]>
}

/** Makes an empty plugins folder. Disposing removes it. */
export async function makePluginFolder(): Promise<PluginFolder> {
  const root = await mkdtemp(path.join(tmpdir(), 'lateen-host-'))
  const folder = path.join(root, 'plugins')
  const notes = path.join(root, 'notes')
  for (const each of [folder, notes]) await mkdir(each)
  const add = async (name: string, content: string, mode = 0o755) => {
    const file = path.join(folder, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, content)
    await chmod(file, mode)
    return file
  }
  const launcher = (name: string, { command, env = {} }: Launch) => {
    const variables = Object.entries({ FAULTY_NOTES: notes, ...env }).map(
      ([variable, value]) => `export ${variable}=${quoted(value)}`,
    )
    return add(name, ['#!/bin/sh', ...variables, `exec ${command.map(quoted).join(' ')} "$@"`, ''].join('\n'))
  }
  return {
    path: folder,
    notes,
    add,
    launcher,
    script: (name, source, args = []) =>
      launcher(name, { command: [process.execPath, path.resolve(import.meta.dirname, source), ...args] }),
    async noted() {
      const text = await readFile(path.join(notes, 'seen'), 'utf8').catch(() => '')
      const lines = text.split('\n').filter(line => line !== '')
      return lines.map(line => ({
        pid: Number.parseInt(line, 10),
        what: line.slice(line.indexOf(' ') + 1),
      }))
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

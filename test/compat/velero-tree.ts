import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** A flag as the help of `velero` shows it. */
export interface VeleroFlag {
  readonly short: string | undefined
  /** The word for its value; empty for a switch, and for one of a few words. */
  readonly type: string
  /** Whether it may stand alone. */
  readonly bare: boolean
  readonly default: string | undefined
}

/** A command of `velero`. */
export interface VeleroCommand {
  /** Names from below the root, joined by spaces; empty for the root. */
  readonly path: string
  readonly aliases: readonly string[]
  readonly flags: ReadonlyMap<string, VeleroFlag>
}

/** Commands that no list of `velero` shows, because they are for its pods. */
const hiddenCommands = [
  ['server'],
  ['node-agent'],
  ['node-agent', 'server'],
  ['run-plugins'],
  ['repo-maintenance'],
  ['data-mover'],
  ['data-mover', 'backup'],
  ['data-mover', 'restore'],
  ['pod-volume'],
  ['pod-volume', 'backup'],
  ['pod-volume', 'restore'],
]

const WORKERS = 4

/** Every command of the real program, from what `--help` prints for each. */
export async function veleroTree(program: string): Promise<VeleroCommand[]> {
  const found: VeleroCommand[] = []
  const waiting: string[][] = [[], ...hiddenCommands]
  const work = async () => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      const { stdout } = await promisify(execFile)(program, [...path, '--help'], { env: { HOME: '/' } })
      const help = sectionsOf(stdout)
      found.push({
        path: path.join(' '),
        aliases: aliasesOf(help),
        flags: new Map((help.get('Flags') ?? []).flatMap(flagOf).filter(([name]) => name !== 'help')),
      })
      const below = (help.get('Available Commands') ?? []).map(line => line.trim().split(' ')[0] ?? '')
      waiting.push(...below.filter(name => name !== 'help').map(name => [...path, name]))
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** The lines below each title, up to the next empty line. */
function sectionsOf(help: string): Map<string, string[]> {
  const blocks = help.split('\n\n').map(block => block.split('\n'))
  return new Map(
    blocks.map(([title = '', ...lines]) => [title.replace(/:$/, ''), lines.filter(line => line !== '')]),
  )
}

function aliasesOf(help: ReadonlyMap<string, readonly string[]>): string[] {
  const [, ...others] = (help.get('Aliases')?.[0] ?? '').trim().split(', ')
  return others
}

/** `  -o, --output string   Text. (default "table")`; the text begins behind three spaces. */
function flagOf(line: string): [string, VeleroFlag][] {
  const parts = /^\s+(?:-(\w), )?--([\w-]+)(?: (\S+))?\s{3,}(.*)$/.exec(line)
  if (parts === null) return []
  const [, short, name = '', type = '', help = ''] = parts
  const given = /\(default (.*)\)$/.exec(help)?.[1]
  const value = given?.replace(/^"(.*)"$/, '$1').replace(/^\[(.*)\]$/, '$1')
  return [
    [
      name,
      {
        short,
        type: type.replace(/\[.*\]$/, ''),
        bare: type.includes('[=') || (type === '' && (value === undefined || /^(true|false)$/.test(value))),
        default: value === '<none>' ? undefined : value,
      },
    ],
  ]
}

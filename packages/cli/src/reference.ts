import { flagHelp, flagUsage, usageLine } from './output/help.ts'
import { type CommandSpec, isGroup } from './tree/command.ts'
import type { FlagSet } from './tree/flag.ts'
import { globalFlags } from './tree/global-flags.ts'
import { commandTree } from './tree/root.ts'

/** The command reference as Markdown: paths relative to the repository's root, and their contents. */
export function cliReference(): Map<string, string> {
  const pages = new Map([['docs/cli/README.md', overview()]])
  for (const spec of commandTree.commands) {
    pages.set(`docs/cli/${spec.name}.md`, `${notice}\n${sections([commandTree, spec])}`)
  }
  return pages
}

const notice = '<!-- Written by `npm run gen` from packages/cli/src/tree. Do not edit. -->\n'

function overview(): string {
  const rows = (hidden: boolean) =>
    commandTree.commands
      .filter(spec => (spec.hidden ?? false) === hidden)
      .map(({ name, summary }) => `- [\`lateen ${name}\`](${name}.md): ${summary}`)
  return [
    notice,
    '# The lateen command line',
    '',
    commandTree.description,
    '',
    ...rows(false),
    '',
    '## Commands that pods call',
    '',
    ...rows(true),
    '',
    '## Flags of every command',
    '',
    ...flagList(globalFlags),
    '',
  ].join('\n')
}

function sections(path: readonly CommandSpec[]): string {
  const spec = path.at(-1)
  if (spec === undefined) return ''
  const own = section(path, spec)
  const below = isGroup(spec) ? spec.commands.map(child => sections([...path, child])) : []
  return [own, ...below].join('\n')
}

function section(path: readonly CommandSpec[], spec: CommandSpec): string {
  const name = path.map(step => step.name).join(' ')
  const flags = isGroup(spec) ? [] : flagList(spec.flags)
  return [
    `${'#'.repeat(path.length - 1)} ${name}`,
    '',
    spec.description ?? `${spec.summary}.`,
    '',
    '```',
    usageLine(path),
    '```',
    ...(spec.aliases?.length ? ['', `Also: ${spec.aliases.map(alias => `\`${alias}\``).join(', ')}.`] : []),
    ...(spec.examples?.length ? ['', 'Examples:', '', '```sh', ...spec.examples, '```'] : []),
    ...(flags.length > 0 ? ['', ...flags] : []),
    '',
  ].join('\n')
}

function flagList(flags: FlagSet): string[] {
  const shown = Object.entries(flags).filter(([, { hidden }]) => !hidden)
  return shown.map(([name, spec]) => `- \`${flagUsage(name, spec).trim()}\`: ${flagHelp(spec)}`)
}

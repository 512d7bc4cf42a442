import { type CommandSpec, command, noArguments } from './command.ts'
import type { FlagSet } from './flag.ts'

export const pluginGetFlags = {
  output: {
    type: 'choice',
    short: 'o',
    default: 'table',
    choices: ['table', 'json', 'yaml'],
    help: "How to print: table, or json and yaml, which show the server's whole answer.",
  },
  timeout: { type: 'duration', default: '5s', help: "How long to wait for the server's answer." },
} as const satisfies FlagSet

export const pluginAddFlags = {
  confirm: { type: 'boolean', help: 'Add without asking.' },
  'image-pull-policy': {
    type: 'choice',
    default: 'IfNotPresent',
    choices: ['Always', 'IfNotPresent', 'Never'],
    help: 'When nodes pull the image: Always, IfNotPresent or Never.',
  },
} as const satisfies FlagSet

function get(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Show the plugins of the server',
    description: 'Asks the server which plugins it has, its own and those of the programs it found.',
    examples: ['lateen plugin get', 'lateen plugin get -o json --timeout 30s'],
    args: noArguments,
    flags: pluginGetFlags,
    load: () => import('../commands/plugin-get.ts'),
  })
}

const add = command({
  name: 'add',
  summary: 'Add a plugin to the server',
  description:
    "Adds the image of a plugin as an init container to the server's Deployment, which copies its programs into the server's plugin folder. The server restarts: backups and restores in progress fail.",
  examples: ['lateen plugin add velero/velero-plugin-for-gcp:v1.14.0 --confirm'],
  args: { usage: 'IMAGE', min: 1, max: 1 },
  flags: pluginAddFlags,
  load: () => import('../commands/plugin-add.ts'),
})

const remove = command({
  name: 'remove',
  summary: 'Remove a plugin from the server',
  description:
    "Takes the init container of a plugin out of the server's Deployment. It is named by itself or by its image. The server restarts: backups and restores in progress fail.",
  examples: [
    'lateen plugin remove velero/velero-plugin-for-gcp:v1.14.0',
    'lateen plugin remove velero-velero-plugin-for-gcp',
  ],
  args: { usage: 'NAME|IMAGE', min: 1, max: 1 },
  flags: {},
  load: () => import('../commands/plugin-remove.ts'),
})

/** `plugin …` and the same command under `get`. */
export const pluginCommands = {
  noun: { name: 'plugin', summary: 'Work with plugins', commands: [add, get('get'), remove] },
  underGet: get('plugins', ['plugin']),
} as const satisfies Record<string, CommandSpec>

import { backupSpecFlags } from './backup.ts'
import { anyNames, type CommandSpec, command, newName } from './command.ts'
import type { FlagSet } from './flag.ts'
import { deleteFlags, getFlags } from './object-flags.ts'
import { createOutputFlags } from './output-flags.ts'

const nouns = { one: 'schedule', many: 'schedules' }

/** Takes a value, as with Velero: its absence leaves the decision to the server. */
const skipImmediately = {
  type: 'string',
  choices: ['true', 'false'],
  help: 'Whether to leave out a backup that is due at once: true or false. Without it the server decides.',
} as const

export const scheduleCreateFlags = {
  annotations: {
    type: 'map',
    help: 'Annotations of the schedule and its backups as key1=value1,key2=value2.',
  },
  labels: { type: 'map', help: 'Labels of the schedule and its backups as key1=value1,key2=value2.' },
  paused: { type: 'boolean', help: 'Make no backups until the schedule is unpaused.' },
  schedule: {
    type: 'string',
    help: 'When to back up: five fields of cron, a word such as @daily, or "@every 6h". Required.',
  },
  'skip-immediately': skipImmediately,
  'use-owner-references-in-backup': {
    type: 'boolean',
    help: 'Make the schedule the owner of its backups: when it is deleted, the cluster deletes them, too.',
  },
  ...backupSpecFlags,
  ...createOutputFlags,
} as const satisfies FlagSet

export const scheduleGetFlags = getFlags(nouns)

export const scheduleDescribeFlags = {
  selector: { type: 'string', short: 'l', help: 'Show only schedules whose labels match this selector.' },
} as const satisfies FlagSet

export const scheduleDeleteFlags = deleteFlags(nouns)

export const schedulePauseFlags = {
  all: { type: 'boolean', help: 'All schedules of the namespace.' },
  selector: { type: 'string', short: 'l', help: 'All schedules whose labels match this selector.' },
  'skip-immediately': skipImmediately,
} as const satisfies FlagSet

function create(name: string): CommandSpec {
  return command({
    name,
    summary: 'Create a schedule',
    description:
      'Makes a backup again and again, at the times of a cron expression: minute (0-59), hour (0-23), day of month (1-31), month (1-12), day of week (0-6, Sunday is 0). The times are those of the server, unless the expression begins with a zone: "CRON_TZ=Europe/Berlin 0 3 * * *". All flags about what to back up mean what they mean to `backup create`. The server checks the expression: `schedule get` shows FailedValidation if it is wrong, `schedule describe` why.',
    examples: [
      'lateen schedule create often --schedule="0 */6 * * *"',
      'lateen schedule create often --schedule="@every 6h"',
      'lateen schedule create web --schedule=@daily --include-namespaces web',
      'lateen schedule create weekly --schedule="@every 168h" --ttl 2160h',
      'lateen schedule create nightly --schedule="0 3 * * *" --annotations lateen.dev/keep-last-good=true',
    ],
    args: newName,
    flags: scheduleCreateFlags,
    load: () => import('../commands/schedule-create.ts'),
  })
}

function get(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Show schedules',
    examples: ['lateen schedule get', 'lateen schedule get nightly -o yaml'],
    args: anyNames('schedules'),
    flags: scheduleGetFlags,
    load: () => import('../commands/schedule-get.ts'),
  })
}

function describe(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Describe schedules',
    examples: ['lateen schedule describe nightly', 'lateen schedule describe -l team=web'],
    args: anyNames('schedules'),
    flags: scheduleDescribeFlags,
    load: () => import('../commands/schedule-describe.ts'),
  })
}

function remove(name: string, aliases: readonly string[] = []): CommandSpec {
  return command({
    name,
    aliases,
    summary: 'Delete schedules',
    description: 'Deletes schedules. Their backups stay, unless the schedule owns them.',
    examples: [
      'lateen schedule delete nightly',
      'lateen schedule delete nightly weekly --confirm',
      'lateen schedule delete --selector team=web',
    ],
    args: anyNames('schedules'),
    flags: scheduleDeleteFlags,
    load: () => import('../commands/schedule-delete.ts'),
  })
}

const pause = command({
  name: 'pause',
  summary: 'Pause schedules',
  examples: [
    'lateen schedule pause nightly',
    'lateen schedule pause --selector team=web',
    'lateen schedule pause --all',
  ],
  args: anyNames('schedules'),
  flags: schedulePauseFlags,
  load: () => import('../commands/schedule-pause.ts'),
})

const unpause = command({
  name: 'unpause',
  summary: 'Unpause schedules',
  description:
    'Lets schedules make backups again. One whose time has passed meanwhile makes a backup at once, unless --skip-immediately=true.',
  examples: [
    'lateen schedule unpause nightly',
    'lateen schedule unpause nightly --skip-immediately=true',
    'lateen schedule unpause --all',
  ],
  args: anyNames('schedules'),
  flags: schedulePauseFlags,
  load: () => import('../commands/schedule-unpause.ts'),
})

/** `schedule …` and the same commands under `create`, `get`, `describe` and `delete`. */
export const scheduleCommands = {
  noun: {
    name: 'schedule',
    summary: 'Work with schedules',
    commands: [create('create'), remove('delete'), describe('describe'), get('get'), pause, unpause],
  },
  underCreate: create('schedule'),
  underGet: get('schedules', ['schedule']),
  underDescribe: describe('schedules', ['schedule']),
  underDelete: remove('schedule', ['schedules']),
} as const satisfies Record<string, CommandSpec>

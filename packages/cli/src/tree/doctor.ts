import { type CommandSpec, command, noArguments } from './command.ts'
import type { FlagSet } from './flag.ts'

/** What can be left out, and in which order findings are explained. */
const findingTypes = [
  'stuck',
  'unreferenced-object',
  'unfinished-backup',
  'half-deleted-backup',
  'restore-files',
  'journal',
  'stray-key',
  'snapshot',
  'snapshot-object',
  'not-examined',
] as const

export const doctorFlags = {
  ignore: {
    type: 'list',
    choices: findingTypes,
    help: `Sorts of findings to leave out, comma-separated, of ${findingTypes.join(', ')}. Where several clusters use one bucket, each takes the restore-files of the others for left over.`,
  },
  'older-than': {
    type: 'duration',
    default: '24h',
    help: 'How long a server must have seen something in a bucket before it counts: what is younger may still be written.',
  },
  output: {
    type: 'choice',
    short: 'o',
    default: 'text',
    choices: ['text', 'json'],
    help: 'How to print: text or json.',
  },
  timeout: {
    type: 'duration',
    default: '30s',
    help: 'How long to wait until the server has looked through the buckets.',
  },
} as const satisfies FlagSet

export const doctorCommand: CommandSpec = command({
  name: 'doctor',
  summary: 'Find what is stuck or left over',
  description:
    'Looks for objects that sit in a phase for longer than that takes, for objects whose backup, restore or location does not exist, and for keys and snapshots that nothing refers to, and shows the command that would mend each, which keeps what a backup may need in the storage. Nothing is changed. The server looks through the buckets, because it has their credentials, and answers in the ConfigMap lateen-watchdog. The exit code is 0 if there is nothing, and else 1.',
  examples: ['lateen doctor', 'lateen doctor --ignore restore-files -o json'],
  args: noArguments,
  flags: doctorFlags,
  load: () => import('../commands/doctor.ts'),
})

import { type CommandSpec, command, noArguments } from './command.ts'

export const bugCommand: CommandSpec = command({
  name: 'bug',
  summary: 'Print a bug report to fill in',
  description:
    'Prints a bug report with the questions that need an answer, and with the versions of this program, of the servers and of this machine filled in. Nothing is sent anywhere.',
  examples: ['lateen bug > report.md'],
  args: noArguments,
  flags: {},
  load: () => import('../commands/bug.ts'),
})

import type { Command, Flag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { globalFlags } from './flags.ts'

/** The help of the program: its commands, the flags of all of them, the exit codes. */
export function programHelp(commands: readonly Command[]): string {
  const rows = commands.map(({ name, usage, summary }): [string, string] => [
    `${name} ${usage}`.trim(),
    summary,
  ])
  return [
    'lateen-repo keeps folders in an encrypted, deduplicated repository that kopia can read too.',
    '',
    'Usage: lateen-repo COMMAND [ARGUMENT...] [FLAG...]',
    '',
    'Commands:',
    ...columns(rows),
    '',
    'Flags of every command:',
    ...flagLines(globalFlags),
    '',
    'Without a flag for it, the password is asked for on the terminal. S3 credentials come from AWS_ACCESS_KEY_ID,',
    'AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or else from where the AWS tools look for them.',
    'A snapshot is named by its id or an unambiguous beginning of it; SNAPSHOT/PATH names something in it.',
    '',
    'Exit codes:',
    ...columns(
      Object.values(exitCodes).map(({ code, meaning }): [string, string] => [String(code), meaning]),
    ),
    '',
  ].join('\n')
}

/** The help of one command. */
export function commandHelp({ name, usage, summary, flags }: Command): string {
  const own = Object.keys(flags).length === 0 ? [] : ['Flags:', ...flagLines(flags), '']
  return [
    `Usage: lateen-repo ${`${name} ${usage}`.trim()} [FLAG...]`,
    '',
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    '',
    ...own,
    'Flags of every command:',
    ...flagLines(globalFlags),
    '',
    'Exit codes: see lateen-repo --help.',
    '',
  ].join('\n')
}

function flagLines(flags: Readonly<Record<string, Flag>>): string[] {
  return columns(
    Object.entries(flags).map(([name, { value, help, multiple }]): [string, string] => [
      `--${name}${value === undefined ? '' : ` ${value}`}`,
      multiple ? `${help}; may be repeated` : help,
    ]),
  )
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

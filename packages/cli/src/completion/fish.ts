import type { CommandSpec } from '../tree/command.ts'
import type { FlagSet } from '../tree/flag.ts'
import { type CompletionFlag, type CompletionPoint, completionPoints } from './completion-model.ts'
import { dashed } from './shell-tables.ts'

/** The lines of a script that fish sources to complete `lateen`. */
export function fishCompletion(root: CommandSpec, globals: FlagSet): string[] {
  const points = completionPoints(root, globals)
  return [
    '# fish completion for lateen',
    ...pathFunction(points),
    'complete -c lateen -e',
    'complete -c lateen -f',
    ...points.flatMap(completionsAt),
  ]
}

function pathFunction(points: readonly CompletionPoint[]): string[] {
  const valued = new Set(points.flatMap(point => point.flags.filter(flag => flag.takesValue).flatMap(dashed)))
  const steps = points.flatMap(({ path, steps }) =>
    steps.map(step => [`${path} ${step.typed}`, `${path} ${step.name}`.trim()]),
  )
  return [
    'function __lateen_path',
    "  set -l route ''",
    '  set -l skip 0',
    '  for word in (commandline -opc)[2..-1]',
    '    if test $skip = 1',
    '      set skip 0',
    '      continue',
    '    end',
    '    switch $word',
    `      case ${[...valued].map(quote).join(' ')}`,
    '        set skip 1',
    '        continue',
    "      case '-*'",
    '        continue',
    '    end',
    '    switch "$route $word"',
    ...steps.flatMap(([typed, path]) => [
      `      case ${quote(typed ?? '')}`,
      `        set route ${quote(path ?? '')}`,
    ]),
    '    end',
    '  end',
    '  echo $route',
    'end',
    'function __lateen_live',
    '  set -l words (commandline -opc)',
    '  command $words[1] __completeNoDesc $words[2..-1] (commandline -ct) 2>/dev/null </dev/null | string match -v ":*" | string replace -r "^--[^=]*=" ""',
    'end',
    'function __lateen_at',
    '  test (__lateen_path) = "$argv[1]"',
    'end',
  ]
}

function completionsAt(point: CompletionPoint): string[] {
  const here = `complete -c lateen -n ${quote(`__lateen_at ${quote(point.path)}`)}`
  return [
    ...point.steps.map(step => `${here} -a ${quote(step.typed)} -d ${quote(step.summary)}`),
    ...point.values.map(value => `${here} -a ${quote(value)}`),
    ...(point.live ? [`${here} -a '(__lateen_live)'`] : []),
    ...point.flags.map(flag => `${here} ${flagParts(flag)}`),
  ]
}

function flagParts(flag: CompletionFlag): string {
  const short = flag.short === undefined ? '' : `-s ${flag.short} `
  const value = !flag.takesValue
    ? ''
    : flag.live
      ? "-x -a '(__lateen_live)' "
      : flag.choices.length > 0
        ? `-x -a ${quote(flag.choices.join(' '))} `
        : '-r -F '
  return `${short}-l ${flag.name} ${value}-d ${quote(flag.help)}`
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/g, String.raw`\$&`)}'`
}

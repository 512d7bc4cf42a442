import type { CompletionFlag, CompletionPoint } from './completion-model.ts'

/**
 * The tree as shell functions that bash and zsh both understand. Each answers in REPLY:
 * `_lateen_step PATH WORD` the path after a word, `_lateen_words PATH` and `_lateen_flags PATH` what may follow,
 * `_lateen_values PATH FLAG` the choices of a flag, and `_lateen_takes_value FLAG` succeeds when a value follows it. A word `@` among
 * them stands for names that the cluster has, and `_lateen_live WORD...` asks for them.
 */
export function shellTables(points: readonly CompletionPoint[]): string[] {
  const flags = points.flatMap(point => point.flags)
  return [
    ...table('_lateen_step', '"$1 $2"', points.flatMap(stepsOf)),
    ...table('_lateen_words', '"$1"', points.map(wordsOf)),
    ...table(
      '_lateen_flags',
      '"$1"',
      points.map(point => [point.path, point.flags.flatMap(dashed).join(' ')]),
    ),
    ...table('_lateen_values', '"$1 $2"', points.flatMap(choicesOf)),
    '_lateen_takes_value() {',
    '  case "$1" in',
    `    ${unique(flags.filter(flag => flag.takesValue).flatMap(dashed)).join('|')}) return 0 ;;`,
    '  esac',
    '  return 1',
    '}',
    ...live.split('\n'),
  ]
}

const live = `_lateen_live() {
  local line
  REPLY=""
  while IFS= read -r line; do
    case "$line" in
      :*) ;;
      *) REPLY="$REPLY$line " ;;
    esac
  done < <(command "$_lateen_program" __completeNoDesc "$@" 2>/dev/null </dev/null)
}`

function table(name: string, subject: string, rows: readonly (readonly [string, string])[]): string[] {
  return [
    `${name}() {`,
    '  REPLY=""',
    `  case ${subject} in`,
    ...rows.map(([key, reply]) => `    "${key}") REPLY="${reply}" ;;`),
    '  esac',
    '}',
  ]
}

function stepsOf({ path, steps }: CompletionPoint): [string, string][] {
  return steps.map(step => [`${path} ${step.typed}`, `${path} ${step.name}`.trim()])
}

function wordsOf({ path, steps, values, live }: CompletionPoint): [string, string] {
  return [path, live ? '@' : unique([...steps.map(step => step.name), ...values]).join(' ')]
}

function choicesOf({ path, flags }: CompletionPoint): [string, string][] {
  return flags
    .filter(flag => flag.live || flag.choices.length > 0)
    .flatMap(flag =>
      dashed(flag).map((name): [string, string] => [
        `${path} ${name}`,
        flag.live ? '@' : flag.choices.join(' '),
      ]),
    )
}

/** The notations of a flag. */
export function dashed(flag: CompletionFlag): string[] {
  return flag.short === undefined ? [`--${flag.name}`] : [`--${flag.name}`, `-${flag.short}`]
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

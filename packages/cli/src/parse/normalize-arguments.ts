import type { CommandSpec } from '../tree/command.ts'
import { isGroup } from '../tree/command.ts'
import type { FlagSet, FlagSpec } from '../tree/flag.ts'

/** Which flags, by dashed name, stand alone (`bare`) and which are followed by a value. */
export interface FlagArity {
  readonly bare: ReadonlySet<string>
  readonly valued: ReadonlySet<string>
}

/** Collects the arity of every flag in the tree. A name has one arity everywhere; a test holds the tree to that. */
export function flagArity(root: CommandSpec, globals: FlagSet): FlagArity {
  const bare = new Set<string>()
  const valued = new Set<string>()
  const add = (flags: FlagSet) => {
    for (const [name, spec] of Object.entries(flags)) {
      const names = spec.short === undefined ? [`--${name}`] : [`--${name}`, `-${spec.short}`]
      for (const dashed of names) (isBare(spec) ? bare : valued).add(dashed)
    }
  }
  const visit = (spec: CommandSpec) => {
    if (isGroup(spec)) spec.commands.forEach(visit)
    else add(spec.flags)
  }
  add(globals)
  visit(root)
  return { bare, valued }
}

function isBare(spec: FlagSpec): boolean {
  return spec.type === 'boolean' || spec.type === 'optional-boolean'
}

/**
 * Rewrites the notations of Velero's command line that commander does not know: `--flag` alone means `--flag=true`,
 * `-o=json` means `-o json`, and `help COMMAND` means `COMMAND --help`. Values and anything after `--` stay untouched.
 */
export function normalizeArguments(argv: readonly string[], arity: FlagArity): string[] {
  if (argv[0] === 'help') return normalizeArguments([...argv.slice(1), '--help'], arity)
  const out: string[] = []
  let valueFollows = false
  for (const [at, token] of argv.entries()) {
    if (!valueFollows && token === '--') return [...out, ...argv.slice(at)]
    const tokens = valueFollows ? [token] : rewrite(token, arity)
    out.push(...tokens)
    valueFollows = !valueFollows && arity.valued.has(token)
  }
  return out
}

function rewrite(token: string, arity: FlagArity): string[] {
  if (arity.bare.has(token)) return token.startsWith('--') ? [`${token}=true`] : [token, 'true']
  const short = /^(-[A-Za-z])=(.*)$/s.exec(token)
  return short === null ? [token] : [short[1] ?? '', short[2] ?? '']
}

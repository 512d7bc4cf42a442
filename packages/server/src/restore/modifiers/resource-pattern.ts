import { compileGlob } from '../../filters/glob.ts'
import { compileGoRegexp, type TextTest } from './go-regexp.ts'

/**
 * The types that a pattern such as `deployments.apps`, `*.apps` or `{pods,jobs.batch}` stands for. As in other patterns, but dots
 * separate: `*` and `?` do not cross them, `**` does. Throws InvalidPatternError.
 */
export function compileResourcePattern(pattern: string): TextTest {
  // Says what is wrong with it; all that follows is right then.
  compileGlob(pattern)
  return compileGoRegexp(`\\A(?:${regexpOf(pattern)})\\z`)
}

const tokens = /\\(.?)|\[(!?)(?:(.)-(.)|((?:\\.|[^\]\\])+))\]|\*\*|./gsu

function regexpOf(pattern: string): string {
  let depth = 0
  const inBraces = (token: string) => {
    if (token === '{') depth++
    else if (depth === 0) return undefined
    else if (token === '}') depth--
    return braces.get(token)
  }
  const regexp = Array.from(pattern.matchAll(tokens), match => {
    const [token, escaped, negated, low, high, list] = match
    if (escaped !== undefined) return literal(escaped)
    const not = negated === '!' ? '^' : ''
    if (low !== undefined && high !== undefined) return `[${not}${literal(low)}-${literal(high)}]`
    if (list !== undefined) return `[${not}${listed(list)}]`
    return wildcards.get(token) ?? inBraces(token) ?? literal(token)
  })
  // A brace left open is closed at the end.
  return regexp.join('') + ')'.repeat(depth)
}

const wildcards: ReadonlyMap<string, string> = new Map([
  ['**', '(?s:.*)'],
  ['*', '[^.]*'],
  ['?', '[^.]'],
])

const braces: ReadonlyMap<string, string> = new Map([
  ['{', '(?:'],
  [',', '|'],
  ['}', ')'],
])

function listed(list: string): string {
  return Array.from(list.matchAll(/\\(.)|./gsu), ([character, escaped]) =>
    literal(escaped ?? character),
  ).join('')
}

function literal(character: string): string {
  return character === '' ? '' : `\\x{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

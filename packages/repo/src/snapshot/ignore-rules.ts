import { RepoError } from '../errors/repo-error.ts'
import { classMatcher } from './character-class.ts'

/**
 * One line of gitignore syntax in Kopia's dialect. Paths start with `/`, which is the root of the snapshot.
 * The dialect has a few surprises which are kept, because both tools must leave out the same files: see the
 * comments marked "quirk".
 */
export interface IgnoreRule {
  readonly pattern: string
  /** The line starts with `!`: a match takes the path back in. */
  readonly negated: boolean
  readonly directoriesOnly: boolean
  readonly tokens: readonly Token[]
}

type SingleToken =
  | { kind: 'character'; code: number }
  | { kind: 'separator' }
  | { kind: 'any' }
  | { kind: 'set'; items: readonly ((code: number) => boolean)[]; negated: boolean }

type Token = SingleToken | { kind: 'star'; double: boolean }

const slash = 0x2f
const backslash = 0x5c
const star = 0x2a

/**
 * Compiles one line. `baseDirectory` is the folder the line was found in ('' for the root, '/sub' below it);
 * the rule matches nothing outside of it. Throws RepoError INVALID_ARGUMENT for a line that cannot be compiled.
 */
export function compileIgnoreRule(line: string, baseDirectory = ''): IgnoreRule {
  const pattern = isTrimmed(line) ? line.replace(outerSpace, '') : line
  const scanner = new Scanner(pattern)
  scanner.skipSpace()
  const negated = scanner.skip('!')
  const rooted = scanner.peek() === slash
  const tokens = [
    ...baseTokens(baseDirectory, rooted, pattern),
    ...anchorTokens(scanner, { rooted, baseDirectory }),
  ]
  const directoriesOnly = scanner.dropTrailing(slash)
  while (scanner.peek() !== 0) tokens.push(readToken(scanner))
  return { pattern, negated, directoriesOnly, tokens }
}

/** The rules of an ignore file: comments and blank lines are left out. */
export function parseIgnoreFile(text: string, baseDirectory = ''): IgnoreRule[] {
  return text
    .split(/\r?\n/)
    .filter(line => !line.startsWith('#') && line.replace(outerSpace, '') !== '')
    .map(line => compileIgnoreRule(line, baseDirectory))
}

/** What rules are asked about: a path from the root of the snapshot with a leading slash. */
export interface IgnoreSubject {
  codes: readonly number[]
  directory: boolean
}

/** Prepares a path for many rules. Bytes that are not UTF-8 count as U+FFFD. */
export function ignoreSubject(path: string, directory: boolean): IgnoreSubject {
  return { codes: Array.from(path.toWellFormed(), character => character.codePointAt(0) ?? 0), directory }
}

/** True when the rules, applied in order after what `ignored` says, leave the path out. */
export function applyIgnoreRules(
  rules: readonly IgnoreRule[],
  subject: IgnoreSubject,
  ignored: boolean,
): boolean {
  let result = ignored
  for (const rule of rules) {
    if (rule.negated === result) result = ruleIgnores(rule, subject)
  }
  return result
}

function ruleIgnores(rule: IgnoreRule, subject: IgnoreSubject): boolean {
  if (rule.directoriesOnly && !subject.directory) return rule.negated
  return (matchTokens(rule.tokens, subject.codes, { token: 0, text: 0 }) === 'match') !== rule.negated
}

const outerSpace = /^\p{White_Space}+|\p{White_Space}+$/gu

// Quirk: the byte before the last one decides for both ends, and lines of one or two bytes stay as they are.
function isTrimmed(line: string): boolean {
  const bytes = Buffer.from(line)
  return bytes.length > 2 && bytes.at(-2) !== backslash
}

function baseTokens(baseDirectory: string, rooted: boolean, pattern: string): Token[] {
  if (baseDirectory === '' || pattern === '') return []
  const tokens = Array.from(baseDirectory.toWellFormed().replace(/(?<=.)\/$/, ''), literal)
  if (!rooted) tokens.push({ kind: 'separator' })
  return tokens
}

// A pattern without a slash except at its end matches at any depth.
function anchorTokens(scanner: Scanner, options: { rooted: boolean; baseDirectory: string }): Token[] {
  if (options.rooted || scanner.text === '**' || scanner.text === '') return []
  const firstSlash = scanner.indexOf(slash)
  if (firstSlash === -1 || firstSlash === scanner.remaining() - 1) {
    return [{ kind: 'star', double: true }, { kind: 'separator' }]
  }
  return options.baseDirectory === '' ? [{ kind: 'separator' }] : []
}

function literal(character: string): Token {
  return character === '/'
    ? { kind: 'separator' }
    : { kind: 'character', code: character.codePointAt(0) ?? 0 }
}

function readToken(scanner: Scanner): Token {
  const code = scanner.read()
  switch (code) {
    case backslash:
      return { kind: 'character', code: scanner.readEscaped() }
    case 0x3f:
      return { kind: 'any' }
    case slash:
      return { kind: 'separator' }
    case star:
      return readStar(scanner)
    case 0x5b:
      return readSet(scanner)
    default:
      return { kind: 'character', code }
  }
}

// Quirk: at the very start of a line `**` is double whatever follows, and after `!` it never is.
function readStar(scanner: Scanner): Token {
  if (scanner.peek() !== star) return { kind: 'star', double: false }
  const before = scanner.peek(-2)
  while (scanner.peek() === star) scanner.read()
  const after = scanner.peek()
  return { kind: 'star', double: before === 0 || (before === slash && (after === slash || after === 0)) }
}

function readSet(scanner: Scanner): Token {
  const closing = 0x5d
  let code = scanner.read()
  const negated = code === 0x21
  if (negated) code = scanner.read()
  const items: ((code: number) => boolean)[] = []
  for (; code !== closing; code = scanner.read()) {
    if (code === 0) throw scanner.invalid("it has a '[' without a ']'")
    items.push(readSetItem(scanner, code))
  }
  return { kind: 'set', items, negated }
}

function readSetItem(scanner: Scanner, first: number): (code: number) => boolean {
  const start = first === backslash ? scanner.readEscaped() : first
  const next = scanner.peek(1)
  if (scanner.peek() === 0x2d && next !== 0x5d && next !== 0) {
    scanner.read()
    const end = scanner.read()
    const last = end === backslash ? scanner.readEscaped() : end
    return code => code >= start && code <= last
  }
  if (start === 0x5b && scanner.peek() === 0x3a) {
    const named = scanner.readClass()
    if (named) return named
  }
  return code => code === start
}

class Scanner {
  readonly text: string
  readonly #codes: number[]
  #position = 0

  constructor(text: string) {
    this.text = text
    this.#codes = Array.from(text.toWellFormed(), character => character.codePointAt(0) ?? 0)
  }

  peek(offset = 0): number {
    return this.#codes[this.#position + offset] ?? 0
  }

  read(): number {
    const code = this.peek()
    if (code !== 0) this.#position++
    return code
  }

  readEscaped(): number {
    const code = this.read()
    if (code === 0) throw this.invalid("it ends after a '\\'; write '\\\\' for a backslash")
    return code
  }

  skip(character: string): boolean {
    const found = this.peek() === character.codePointAt(0)
    if (found) this.#position++
    return found
  }

  skipSpace(): void {
    while (this.peek() !== 0 && /\p{White_Space}/u.test(String.fromCodePoint(this.peek()))) this.#position++
  }

  remaining(): number {
    return this.#codes.length - this.#position
  }

  indexOf(code: number): number {
    const index = this.#codes.indexOf(code, this.#position)
    return index === -1 ? -1 : index - this.#position
  }

  dropTrailing(code: number): boolean {
    if (this.#codes.at(-1) !== code) return false
    this.#codes.pop()
    return true
  }

  // Stands on the ':' of '[:name:]'. Quirk: an offset is compared with a position, so that a class is only
  // seen near the start of a line; further on its characters count one by one.
  readClass(): ((code: number) => boolean) | undefined {
    const closing = this.indexOf(0x5d)
    if (closing === -1) throw this.invalid("it has a '[' without a ']'")
    if (closing - 1 <= this.#position || this.peek(closing - 1) !== 0x3a) return undefined
    const letters = this.#codes.slice(this.#position + 1, this.#position + closing - 1)
    const name = String.fromCodePoint(...letters).toLowerCase()
    const matcher = classMatcher(name)
    if (!matcher) throw this.invalid(`there is no character class [:${name}:]`)
    this.#position += closing + 1
    return matcher
  }

  invalid(reason: string): RepoError {
    return new RepoError('INVALID_ARGUMENT', {
      message: `The ignore rule ${JSON.stringify(this.text)} cannot be used: ${reason}`,
      hint: 'Correct the line in the policy or in the ignore file',
    })
  }
}

type MatchResult = 'match' | 'no match' | 'abort' | 'abort to double star'

interface Position {
  token: number
  text: number
}

function matchTokens(tokens: readonly Token[], text: readonly number[], from: Position): MatchResult {
  let at = from.text
  for (let index = from.token; index < tokens.length; index++) {
    const token = tokens[index]
    if (!token) break
    if (token.kind === 'star') {
      const end = matchStar({ tokens, text }, { token: index, text: at })
      if (typeof end === 'string') return end
      at = end
      continue
    }
    const code = text[at]
    if (code === undefined) return 'abort'
    if (!matchOne(token, code)) return 'no match'
    at++
  }
  return at >= text.length ? 'match' : 'no match'
}

function matchOne(token: SingleToken, code: number): boolean {
  switch (token.kind) {
    case 'character':
      return token.code === code
    case 'separator':
      return code === slash
    case 'any':
      return code !== slash
    case 'set':
      return token.items.some(item => item(code)) !== token.negated
  }
}

interface Matching {
  tokens: readonly Token[]
  text: readonly number[]
}

// A number is the position of the text where matching goes on after the star.
function matchStar({ tokens, text }: Matching, from: Position): MatchResult | number {
  const token = tokens[from.token]
  const double = token?.kind === 'star' && token.double
  if (from.token === tokens.length - 1)
    return double || !text.includes(slash, from.text) ? 'match' : 'no match'
  const beforeSeparator = tokens[from.token + 1]?.kind === 'separator'
  if (beforeSeparator && double && from.token + 2 < tokens.length) {
    const skipped = matchTokens(tokens, text, { token: from.token + 2, text: from.text })
    if (skipped === 'match') return 'match'
  }
  if (beforeSeparator && !double) {
    const next = text.indexOf(slash, from.text)
    return next === -1 ? 'no match' : next
  }
  return matchStarThenRest({ tokens, text }, from, double)
}

function matchStarThenRest({ tokens, text }: Matching, from: Position, double: boolean): MatchResult {
  let last = text[from.text]
  for (let at = from.text; at < text.length; at++) {
    const rest = matchTokens(tokens, text, { token: from.token + 1, text: at })
    if (rest !== 'no match') {
      if (!double || rest !== 'abort to double star') return rest
    } else if (!double && last === slash) {
      // Quirk: `last` lags one behind, so a single star may take one slash as its final character.
      return 'abort to double star'
    }
    last = text[at]
  }
  return 'abort'
}

/** A pattern that cannot be read. */
export class InvalidPatternError extends Error {
  override readonly name = 'InvalidPatternError'
  readonly code = 'INVALID_PATTERN'
  readonly hint =
    'use * and ? and one list or one range of characters in brackets, such as [abc], [a-c] or [!a-c]'
  readonly pattern: string
  /** What is wrong, without the pattern. */
  readonly reason: string

  constructor(pattern: string, reason: string) {
    super(`the pattern ${JSON.stringify(pattern)} cannot be used: ${reason}`)
    this.pattern = pattern
    this.reason = reason
  }
}

/** Whether a name matches. */
export type Glob = (name: string) => boolean

type Test = (character: string) => boolean

type Part =
  | { kind: 'many' }
  | { kind: 'one'; test: Test }
  | { kind: 'choice'; choices: readonly (readonly Part[])[] }

/** Braces in braces: more than anybody writes, less than what the stack holds. */
const maxDepth = 100

/**
 * The names that a pattern stands for: `*` is any text, `?` one character, `[abc]` one of these, `[a-c]` one in this range,
 * `[!…]` one that is not, `{a,b}` either pattern, `\` takes the next character as it is. No character separates, so that `*`
 * crosses dots and slashes. The syntax is that of gobwas/glob, including what it refuses: a bracket holds one range or one list,
 * not both, and a brace left open is closed at the end.
 * Matching takes time in proportion to the lengths of pattern and name, whatever the pattern.
 * Throws InvalidPatternError.
 */
export function compileGlob(pattern: string): Glob {
  if (!/[*?[\\{]/.test(pattern)) return name => name === pattern
  if (pattern === '*') return () => true
  const states = statesOf(new PatternReader(pattern).sequence(false))
  return name => accepts(states, name)
}

class PatternReader {
  readonly #pattern: string
  readonly #characters: readonly string[]
  #at = 0
  #depth = 0

  constructor(pattern: string) {
    this.#pattern = pattern
    this.#characters = Array.from(pattern)
  }

  sequence(inBraces: boolean): Part[] {
    const parts: Part[] = []
    for (let next = this.#peek(); next !== undefined; next = this.#peek()) {
      if (inBraces && (next === ',' || next === '}')) break
      this.#at++
      const part = this.#part(next)
      if (part !== undefined) parts.push(part)
    }
    return parts
  }

  #peek(): string | undefined {
    return this.#characters[this.#at]
  }

  #part(character: string): Part | undefined {
    switch (character) {
      case '*':
        return { kind: 'many' }
      case '?':
        return { kind: 'one', test: () => true }
      case '[':
        return { kind: 'one', test: this.#bracket() }
      case '{':
        return { kind: 'choice', choices: this.#choices() }
      case '\\': {
        const escaped = this.#characters[this.#at++]
        return escaped === undefined ? undefined : { kind: 'one', test: exactly(escaped) }
      }
      default:
        return { kind: 'one', test: exactly(character) }
    }
  }

  #choices(): Part[][] {
    if (++this.#depth > maxDepth) throw this.#invalid(`braces are nested more than ${maxDepth} deep`)
    const choices = [this.sequence(true)]
    while (this.#characters[this.#at++] === ',') choices.push(this.sequence(true))
    this.#depth--
    return choices
  }

  #bracket(): Test {
    const negated = this.#peek() === '!'
    if (negated) this.#at++
    const test = this.#characters[this.#at + 1] === '-' ? this.#range() : this.#list()
    return negated ? character => !test(character) : test
  }

  #range(): Test {
    const [low, , high, close] = this.#characters.slice(this.#at, this.#at + 4)
    if (low === undefined || high === undefined || close === undefined)
      throw this.#invalid('unexpected end of input')
    if (close !== ']') throw this.#invalid('expected close range character')
    if (codeOf(high) < codeOf(low)) {
      throw this.#invalid(`hi character '${high}' should be greater than lo '${low}'`)
    }
    this.#at += 4
    return character => codeOf(character) >= codeOf(low) && codeOf(character) <= codeOf(high)
  }

  #list(): Test {
    const listed = new Set<string>()
    for (let next = this.#characters[this.#at++]; next !== ']'; next = this.#characters[this.#at++]) {
      const meant = next === '\\' ? this.#characters[this.#at++] : next
      if (meant === undefined) throw this.#invalid('unexpected end of input')
      listed.add(meant)
    }
    if (listed.size === 0) throw this.#invalid('could not parse range')
    return character => listed.has(character)
  }

  #invalid(reason: string): InvalidPatternError {
    return new InvalidPatternError(this.#pattern, reason)
  }
}

function exactly(wanted: string): Test {
  return character => character === wanted
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0
}

/** A step of the matcher: takes a character and goes on, or goes on without one; the last state has neither. */
interface State {
  test?: Test
  /** Where to go with the character, or, without a test, where to go at once. */
  next: number[]
}

function statesOf(parts: readonly Part[]): readonly State[] {
  const states: State[] = []
  const first = append(parts, states)
  states.push({ next: [] })
  // Everything was built to end at the number of the state that comes after it, so the start is all that is left.
  states.push({ next: [first] })
  return states
}

/** Adds the states of a sequence, which ends at the state added next; returns where it begins. */
function append(parts: readonly Part[], states: State[]): number {
  const first = states.length
  for (const part of parts) appendPart(part, states)
  return first
}

function appendPart(part: Part, states: State[]): void {
  const own = states.length
  switch (part.kind) {
    case 'one':
      states.push({ test: part.test, next: [own + 1] })
      break
    case 'many':
      states.push({ next: [own + 1, own + 2] }, { test: () => true, next: [own] })
      break
    case 'choice': {
      const fork: State = { next: [] }
      const joins: State[] = []
      states.push(fork)
      for (const choice of part.choices) {
        fork.next.push(append(choice, states))
        const join: State = { next: [] }
        joins.push(join)
        states.push(join)
      }
      for (const join of joins) join.next.push(states.length)
    }
  }
}

function accepts(states: readonly State[], name: string): boolean {
  const end = states.length - 2
  let active = new Set<number>()
  enter(states, states.length - 1, active)
  for (const character of name) {
    const reached = new Set<number>()
    for (const index of active) {
      const { test, next } = states[index] ?? { next: [] }
      if (test?.(character)) for (const target of next) enter(states, target, reached)
    }
    if (reached.size === 0) return false
    active = reached
  }
  return active.has(end)
}

function enter(states: readonly State[], index: number, reached: Set<number>): void {
  const waiting = [index]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (reached.has(at)) continue
    reached.add(at)
    const state = states[at]
    if (state && state.test === undefined) waiting.push(...state.next)
  }
}

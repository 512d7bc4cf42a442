import { type Node, parseGoRegexp } from './parse-go-regexp.ts'

/** Whether the pattern is found anywhere in a text. */
export type TextTest = (text: string) => boolean

type Test = (character: string) => boolean
type Assertion = Extract<Node, { kind: 'assertion' }>['assertion']

/** A step of the machine. Numbers are positions of the steps to go on with. */
type Step =
  | { kind: 'take'; test: Test; next: number }
  | { kind: 'fork'; next: number[] }
  | { kind: 'assert'; assertion: Assertion; next: number }
  | { kind: 'found' }

const maxSteps = 20_000

/** A regular expression of Go that cannot be used. */
export class InvalidRegexpError extends Error {
  override readonly name = 'InvalidRegexpError'
  readonly code = 'INVALID_REGEXP'
  readonly hint = 'write it in the syntax of RE2, which has no lookaround and no backreferences'

  constructor(pattern: string, reason: string) {
    super(`the regular expression ${JSON.stringify(pattern)} cannot be used: ${reason}`)
  }
}

/**
 * A regular expression in Go's syntax. Searching takes time in proportion to the lengths of pattern and text,
 * whatever the pattern, so that no pattern can hold up the server. Throws InvalidRegexpError.
 */
export function compileGoRegexp(pattern: string): TextTest {
  const tree = parseGoRegexp(pattern, reason => new InvalidRegexpError(pattern, reason))
  const steps: Step[] = []
  const assembler = new Assembler(steps, () => new InvalidRegexpError(pattern, 'expression too large'))
  const start = assembler.before(tree, assembler.add({ kind: 'found' }))
  return text => search(steps, start, text)
}

class Assembler {
  readonly #steps: Step[]
  readonly #tooLarge: () => Error

  constructor(steps: Step[], tooLarge: () => Error) {
    this.#steps = steps
    this.#tooLarge = tooLarge
  }

  add(step: Step): number {
    if (this.#steps.length >= maxSteps) throw this.#tooLarge()
    return this.#steps.push(step) - 1
  }

  /** Adds the steps of a node that goes on with `next`; returns the first of them. */
  before(node: Node, next: number): number {
    switch (node.kind) {
      case 'empty':
        return next
      case 'character':
        return this.add({ kind: 'take', test: node.test, next })
      case 'assertion':
        return this.add({ kind: 'assert', assertion: node.assertion, next })
      case 'sequence':
        return node.nodes.reduceRight((after, each) => this.before(each, after), next)
      case 'choice':
        return this.add({ kind: 'fork', next: node.nodes.map(each => this.before(each, next)) })
      case 'repeat':
        return this.#repeat(node, next)
    }
  }

  #repeat({ node, min, max }: Extract<Node, { kind: 'repeat' }>, next: number): number {
    let first = next
    if (max === undefined) {
      const loop: Extract<Step, { kind: 'fork' }> = { kind: 'fork', next: [next] }
      first = this.add(loop)
      loop.next.push(this.before(node, first))
    } else {
      for (let count = min; count < max; count++) {
        first = this.add({ kind: 'fork', next: [this.before(node, first), next] })
      }
    }
    for (let count = 0; count < min; count++) first = this.before(node, first)
    return first
  }
}

/** Where the machine stands in the text. */
interface Place {
  readonly before: string | undefined
  readonly after: string | undefined
}

function search(steps: readonly Step[], start: number, text: string): boolean {
  const characters = Array.from(text)
  let active: number[] = []
  for (let at = 0; at <= characters.length; at++) {
    const place = { before: characters[at - 1], after: characters[at] }
    const reached = closure(steps, [...active, start], place)
    if (reached === 'found') return true
    active = reached.flatMap(index => {
      const step = steps[index]
      const taken = step?.kind === 'take' && place.after !== undefined && step.test(place.after)
      return taken ? [step.next] : []
    })
  }
  return false
}

/** The taking steps that can be reached without taking a character, or that the end can be. */
function closure(steps: readonly Step[], from: number[], place: Place): number[] | 'found' {
  const seen = new Set<number>()
  const taking: number[] = []
  const waiting = from
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    const step = steps[index]
    if (step === undefined || seen.has(index)) continue
    seen.add(index)
    if (step.kind === 'found') return 'found'
    if (step.kind === 'take') taking.push(index)
    else if (step.kind === 'fork') waiting.push(...step.next)
    else if (holds(step.assertion, place)) waiting.push(step.next)
  }
  return taking
}

function holds(assertion: Assertion, { before, after }: Place): boolean {
  switch (assertion) {
    case 'text start':
      return before === undefined
    case 'text end':
      return after === undefined
    case 'line start':
      return before === undefined || before === '\n'
    case 'line end':
      return after === undefined || after === '\n'
    case 'word boundary':
      return isWord(before) !== isWord(after)
    case 'no word boundary':
      return isWord(before) === isWord(after)
  }
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /^[0-9A-Za-z_]$/.test(character)
}

import { type CharacterClass, classTest, escapedClass, readClass } from './go-character-class.ts'

/** What a regular expression is made of. */
export type Node =
  | { kind: 'empty' }
  | { kind: 'character'; test: (character: string) => boolean }
  | {
      kind: 'assertion'
      assertion: 'text start' | 'text end' | 'line start' | 'line end' | 'word boundary' | 'no word boundary'
    }
  | { kind: 'sequence'; nodes: Node[] }
  | { kind: 'choice'; nodes: Node[] }
  | { kind: 'repeat'; node: Node; min: number; max: number | undefined }

interface Times {
  min: number
  /** Undefined: without end. */
  max: number | undefined
}

interface Flags {
  readonly ignoreCase: boolean
  readonly multiLine: boolean
  readonly dotAll: boolean
}

const maxRepeat = 1000
const maxDepth = 1000

/** Reads the syntax of Go's `regexp` package. Throws what `invalid` makes of the reason. */
export function parseGoRegexp(pattern: string, invalid: (reason: string) => Error): Node {
  return new RegexpReader(pattern, invalid).whole()
}

class RegexpReader {
  readonly #text: string
  readonly #invalid: (reason: string) => Error
  #at = 0
  #depth = 0
  #flags: Flags = { ignoreCase: false, multiLine: false, dotAll: false }

  constructor(text: string, invalid: (reason: string) => Error) {
    this.#text = text
    this.#invalid = invalid
  }

  whole(): Node {
    const node = this.#choice()
    if (this.#at < this.#text.length) throw this.#invalid('unexpected )')
    return node
  }

  #choice(): Node {
    if (++this.#depth > maxDepth) throw this.#invalid('expression nests too deeply')
    const nodes = [this.#sequence()]
    while (this.#accept('|')) nodes.push(this.#sequence())
    this.#depth--
    return nodes.length === 1 && nodes[0] ? nodes[0] : { kind: 'choice', nodes }
  }

  #sequence(): Node {
    const nodes: Node[] = []
    while (this.#at < this.#text.length && !this.#sees('|') && !this.#sees(')')) {
      const times = this.#times()
      if (times !== undefined) nodes.push(this.#repeat(nodes.pop(), times))
      else if (this.#accept('\\Q')) nodes.push(...this.#quoted())
      else {
        const atom = this.#atom()
        if (atom !== undefined) nodes.push(atom)
      }
    }
    return nodes.length === 0 ? { kind: 'empty' } : { kind: 'sequence', nodes }
  }

  #quoted(): Node[] {
    const end = this.#text.indexOf('\\E', this.#at)
    const text = this.#text.slice(this.#at, end < 0 ? undefined : end)
    this.#at = end < 0 ? this.#text.length : end + 2
    return Array.from(text, character => this.#literal(character))
  }

  #repeat(node: Node | undefined, times: Times): Node {
    if (node === undefined) throw this.#invalid('missing argument to repetition operator')
    this.#accept('?')
    if (this.#times() !== undefined) throw this.#invalid('invalid nested repetition operator')
    const repeated: Node = { kind: 'repeat', node, ...times }
    if (repeats(repeated) > maxRepeat) throw this.#invalid('invalid repeat count')
    return repeated
  }

  #times(): Times | undefined {
    if (this.#accept('*')) return { min: 0, max: undefined }
    if (this.#accept('+')) return { min: 1, max: undefined }
    if (this.#accept('?')) return { min: 0, max: 1 }
    // Braces that hold no numbers are ordinary characters.
    const counted = /^\{(0|[1-9]\d*)(?:(,)(0|[1-9]\d*)?)?\}/.exec(this.#text.slice(this.#at, this.#at + 40))
    if (counted === null) return undefined
    this.#at += counted[0].length
    const min = Number(counted[1])
    const max = counted[2] === undefined ? min : counted[3] === undefined ? undefined : Number(counted[3])
    if (min > maxRepeat || (max !== undefined && (max > maxRepeat || max < min))) {
      throw this.#invalid(`invalid repeat count: \`${counted[0]}\``)
    }
    return { min, max }
  }

  /** One character, class, assertion or group; undefined for flags that hold from here on. */
  #atom(): Node | undefined {
    const character = this.#next()
    switch (character) {
      case '(':
        return this.#group()
      case '[':
        return this.#class(this.#readClass())
      case '.':
        return { kind: 'character', test: this.#flags.dotAll ? () => true : each => each !== '\n' }
      case '^':
        return { kind: 'assertion', assertion: this.#flags.multiLine ? 'line start' : 'text start' }
      case '$':
        return { kind: 'assertion', assertion: this.#flags.multiLine ? 'line end' : 'text end' }
      case '\\':
        return this.#escape()
      default:
        return this.#literal(character)
    }
  }

  #group(): Node | undefined {
    const before = this.#flags
    if (this.#accept('?')) {
      const name = /^P?<(\w+)>/.exec(this.#text.slice(this.#at))
      if (name !== null) this.#at += name[0].length
      else if (this.#readFlags() === ')') return undefined
    }
    const node = this.#choice()
    if (!this.#accept(')')) throw this.#invalid('missing closing )')
    this.#flags = before
    return node
  }

  /** Sets the flags of `(?im-s:` or `(?im-s)` and returns what ended them. */
  #readFlags(): string {
    const [text, on = '', minus, off = '', end = ''] =
      /^([imsU]*)(-)?([imsU]*)([:)])/.exec(this.#text.slice(this.#at)) ?? []
    if (text === undefined || (minus !== undefined && off === '') || (minus === undefined && off !== '')) {
      throw this.#invalid('invalid or unsupported Perl syntax: `(?`')
    }
    this.#at += text.length
    const flag = (letter: string, given: boolean) => (given || on.includes(letter)) && !off.includes(letter)
    this.#flags = {
      ignoreCase: flag('i', this.#flags.ignoreCase),
      multiLine: flag('m', this.#flags.multiLine),
      dotAll: flag('s', this.#flags.dotAll),
    }
    return end
  }

  #escape(): Node {
    const rest = this.#text.slice(this.#at)
    const assertion = assertions.get(rest.charAt(0))
    if (assertion !== undefined) {
      this.#at++
      return { kind: 'assertion', assertion }
    }
    const { read, length } = escapedClass(rest, this.#invalid)
    this.#at += length
    return this.#class(read)
  }

  #readClass(): CharacterClass {
    const { read, length } = readClass(this.#text.slice(this.#at), this.#invalid)
    this.#at += length
    return read
  }

  #class(read: CharacterClass): Node {
    return { kind: 'character', test: classTest(read, this.#flags.ignoreCase, this.#invalid) }
  }

  #literal(character: string): Node {
    if (!this.#flags.ignoreCase) return { kind: 'character', test: each => each === character }
    return this.#class(escapedClass(`x{${(character.codePointAt(0) ?? 0).toString(16)}}`, this.#invalid).read)
  }

  #next(): string {
    const character = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0)
    this.#at += character.length
    return character
  }

  #sees(text: string): boolean {
    return this.#text.startsWith(text, this.#at)
  }

  #accept(text: string): boolean {
    if (!this.#sees(text)) return false
    this.#at += text.length
    return true
  }
}

const assertions = new Map<string, Extract<Node, { kind: 'assertion' }>['assertion']>([
  ['A', 'text start'],
  ['z', 'text end'],
  ['b', 'word boundary'],
  ['B', 'no word boundary'],
])

/** How often the innermost part of a node may be written out: nested counts multiply. */
function repeats(node: Node): number {
  switch (node.kind) {
    case 'repeat':
      return Math.max(node.max ?? node.min, 1) * repeats(node.node)
    case 'sequence':
    case 'choice':
      return Math.max(1, ...node.nodes.map(repeats))
    default:
      return 1
  }
}

/** A quoted string or a template without substitutions, by its place in the source (quotes included). */
export interface Literal {
  start: number
  end: number
  value: string
}

/** The source with the same length and lines, but nothing left inside comments, strings, templates and regexes. */
export interface MaskedSource {
  code: string
  literals: Map<number, Literal>
}

// What may stand before a slash that begins a regular expression: an operator, an opening bracket, a keyword.
const beforeRegex =
  /(?:^|[=(,:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|delete|void|throw|new|do|else|await|yield))$/

/**
 * Blanks everything that only looks like code, so that patterns may be matched on what is left. Quotes stay where
 * they were. Never throws: a string without an end stops at its line's end.
 */
export function maskSource(source: string): MaskedSource {
  const masker = new Masker(source)
  masker.code(false)
  return { code: masker.out.join(''), literals: masker.literals }
}

class Masker {
  readonly out: string[]
  readonly literals = new Map<number, Literal>()
  private readonly source: string
  private at = 0

  constructor(source: string) {
    this.source = source
    this.out = source.split('')
  }

  /** Reads code up to the end, or up to the brace that closes a template's substitution. */
  code(insideTemplate: boolean): void {
    let depth = 0
    while (this.at < this.source.length) {
      const char = this.source[this.at]
      if (char === '{') depth++
      if (char === '}') depth--
      if (insideTemplate && depth < 0) return
      this.token(char)
    }
  }

  private token(char: string | undefined): void {
    if (char === "'" || char === '"') this.quoted(char)
    else if (char === '`') this.template()
    else if (char === '/') this.slash()
    else this.at++
  }

  private slash(): void {
    const next = this.source[this.at + 1]
    if (next === '/') this.blankUntil(this.lineEnd(this.at))
    else if (next === '*') {
      const close = this.source.indexOf('*/', this.at + 2)
      this.blankUntil(close < 0 ? this.source.length : close + 2)
    } else if (beforeRegex.test(this.codeBefore())) this.regex()
    else this.at++
  }

  /** The last code before this place; long enough to hold the keywords that matter. */
  private codeBefore(): string {
    let from = this.at - 1
    while (from >= 0 && /\s/.test(this.out[from] ?? '')) from--
    return this.out.slice(Math.max(0, from - 10), from + 1).join('')
  }

  private quoted(quote: string): void {
    const start = this.at
    const lineEnd = this.lineEnd(start)
    let end = start + 1
    while (end < lineEnd && this.source[end] !== quote) end += this.source[end] === '\\' ? 2 : 1
    this.literal(start, Math.min(end, lineEnd))
  }

  private literal(start: number, close: number): void {
    this.literals.set(start, { start, end: close + 1, value: this.source.slice(start + 1, close) })
    this.at = start + 1
    this.blankUntil(close)
    this.at = close + 1
  }

  private template(): void {
    const start = this.at
    let plain = true
    this.at++
    while (this.at < this.source.length && this.source[this.at] !== '`') {
      if (this.source.startsWith('${', this.at)) {
        plain = false
        this.at += 2
        this.code(true)
        this.at++
      } else this.blankUntil(this.at + (this.source[this.at] === '\\' ? 2 : 1))
    }
    if (plain)
      this.literals.set(start, { start, end: this.at + 1, value: this.source.slice(start + 1, this.at) })
    this.at++
  }

  private regex(): void {
    const lineEnd = this.lineEnd(this.at)
    let end = this.at + 1
    let inClass = false
    while (end < lineEnd && (inClass || this.source[end] !== '/')) {
      if (this.source[end] === '[') inClass = true
      if (this.source[end] === ']') inClass = false
      end += this.source[end] === '\\' ? 2 : 1
    }
    this.at++
    this.blankUntil(Math.min(end, lineEnd))
    this.at++
  }

  private lineEnd(from: number): number {
    const end = this.source.indexOf('\n', from)
    return end < 0 ? this.source.length : end
  }

  private blankUntil(end: number): void {
    const stop = Math.min(end, this.source.length)
    for (; this.at < stop; this.at++) if (this.source[this.at] !== '\n') this.out[this.at] = ' '
  }
}

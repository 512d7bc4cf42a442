const space = 0x20
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** A value in the bytes of a JSON text. */
export interface JsonSpan {
  readonly from: number
  /** One past its last byte. */
  readonly to: number
}

/**
 * Walks over the members of the object that begins at `from`, in their order. After `next` has said true, the walk stands at
 * a member: `keyIs` tells about its key, `from` and `to` are its value's.
 *
 * Looks no closer than it must to find where values end, and makes no strings. `next` throws SyntaxError where there is no
 * object or it has no end.
 */
export class MemberWalk implements JsonSpan {
  from = 0
  to: number
  #keyFrom = 0
  #keyTo = 0
  #begun = false
  readonly #json: Buffer

  constructor(json: Buffer, from: number) {
    this.#json = json
    this.to = from
  }

  /** Goes to the next member; false at the end of the object. */
  next(): boolean {
    const json = this.#json
    let at = skipSpace(json, this.to)
    const first = !this.#begun
    this.#begun = true
    if (first && json[at] !== openBrace) throw broken(json, at)
    if (first) at = skipSpace(json, at + 1)
    if (json[at] === closeBrace) return false
    if (!first) {
      if (json[at] !== comma) throw broken(json, at)
      at = skipSpace(json, at + 1)
    }
    this.#keyFrom = at + 1
    at = skipString(json, at)
    this.#keyTo = at - 1
    at = skipSpace(json, at)
    if (json[at] !== colon) throw broken(json, at)
    this.from = skipSpace(json, at + 1)
    this.to = skipValue(json, this.from)
    return true
  }

  /** Whether the key is written like this. */
  keyIs(name: Buffer): boolean {
    if (this.#keyTo - this.#keyFrom !== name.length) return false
    for (let at = 0; at < name.length; at++) if (this.#json[this.#keyFrom + at] !== name[at]) return false
    return true
  }
}

/** The string that a value is. Throws SyntaxError when it is no string. */
export function readString(json: Buffer, { from, to }: JsonSpan): string {
  if (json[from] !== quote) throw broken(json, from)
  const text = json.toString('utf8', from + 1, to - 1)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}

/** The first position that is no white space. */
export function skipSpace(json: Buffer, from: number): number {
  let at = from
  while ((json[at] as number) <= space) at++
  return at
}

/** The position after the value that begins at `from`. */
function skipValue(json: Buffer, from: number): number {
  const first = json[from]
  if (first === quote) return skipString(json, from)
  if (first === openBrace || first === openBracket) return skipNested(json, from)
  let at = from
  while (at < json.length && !endsScalar(json[at] as number)) at++
  if (at === from) throw broken(json, at)
  return at
}

function endsScalar(byte: number): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket || byte <= space
}

function skipNested(json: Buffer, from: number): number {
  let depth = 0
  let at = from
  while (at < json.length) {
    const byte = json[at] as number
    if (byte === quote) {
      at = skipString(json, at)
      continue
    }
    at++
    if (byte === openBrace || byte === openBracket) depth++
    else if (byte === closeBrace || byte === closeBracket) {
      depth--
      if (depth === 0) return at
    }
  }
  throw broken(json, at)
}

function skipString(json: Buffer, from: number): number {
  if (json[from] !== quote) throw broken(json, from)
  let at = from + 1
  while (at < json.length) {
    const byte = json[at++]
    if (byte === quote) return at
    if (byte === backslash) at++
  }
  throw broken(json, at)
}

function broken(json: Buffer, at: number): SyntaxError {
  return new SyntaxError(
    at < json.length ? `unexpected byte 0x${json[at]?.toString(16)} at ${at}` : 'it ends too early',
  )
}

const space = 0x20
const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** Nesting depth at which the elements of the root object's `items` lie. */
const itemsDepth = 2

/** The key must be a whole key: a quote that is part of a string has a backslash before it. */
const endsWithItemsKey = /[{,]\s*"items"\s*:\s*$/

/** Everything of a list but its items. */
export interface ListEnvelope {
  apiVersion?: string
  kind?: string
  /** Empty, or null as the server wrote it; absent when the object is no list. */
  items?: readonly [] | null
  metadata?: { resourceVersion?: string; continue?: string; remainingItemCount?: number }
}

/**
 * Finds the elements of the top-level `items` array in the bytes of a JSON object, as the bytes come in. Chunks
 * may end anywhere, even inside a character. Holds one element and the rest of the object, never the array.
 *
 * It looks at quotes, escapes and brackets only: that the pieces are JSON is for `JSON.parse` to say.
 */
export class ListSplitter {
  #depth = 0
  #inString: boolean
  #escaped: boolean
  #inItems: boolean
  #complete: boolean
  /** Bytes of the element that earlier chunks began. */
  #item: Buffer[] = []
  /** Bytes outside `items`: together a list of no items. */
  readonly #outside: Buffer[] = []
  /** How many of those came before the array; undefined until it has begun. */
  #headParts: number | undefined
  /** Bytes taken since an element ended or the array began. */
  #held = 0
  readonly #maxHeldBytes: number

  /** `maxHeldBytes` bounds one element, and the object without its items. */
  constructor({ maxHeldBytes = 256 * 1024 * 1024 }: { maxHeldBytes?: number } = {}) {
    this.#maxHeldBytes = maxHeldBytes
    this.#inString = false
    this.#escaped = false
    this.#inItems = false
    this.#complete = false
  }

  /** The array has begun, or the whole object has been seen. */
  get headComplete(): boolean {
    return this.#headParts !== undefined || this.#complete
  }

  /** A JSON object or array has begun. */
  get begun(): boolean {
    return this.#depth > 0 || this.#complete
  }

  /** The root object has been closed. */
  get complete(): boolean {
    return this.#complete
  }

  /**
   * The JSON text of each element that ends within this chunk, as part of the chunk where it began there too. Throws
   * RangeError past `maxHeldBytes`.
   */
  push(chunk: Buffer): Buffer[] {
    const found: Buffer[] = []
    let at = 0
    while (at < chunk.length) {
      at = this.#inItems ? this.#splitItems(chunk, at, found) : this.#skipOutside(chunk, at)
    }
    if (this.#held > this.#maxHeldBytes) {
      throw new RangeError(`more than ${this.#maxHeldBytes} bytes without the end of an item`)
    }
    return found
  }

  /** What stood before `items`, or outside of it where there is none. Throws SyntaxError when that is not JSON. */
  head(): ListEnvelope {
    if (this.#headParts === undefined) return this.envelope()
    return JSON.parse(`${Buffer.concat(this.#outside.slice(0, this.#headParts))}]}`) as ListEnvelope
  }

  /** What stands outside `items`, once complete. Throws SyntaxError when that is not JSON. */
  envelope(): ListEnvelope {
    return JSON.parse(Buffer.concat(this.#outside).toString()) as ListEnvelope
  }

  /** Runs to the start of the items array or the end of the chunk. */
  #skipOutside(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length) {
      if (this.#inString) {
        at = this.#skipString(chunk, at)
        continue
      }
      const byte = chunk[at++] as number
      this.#nest(byte)
      if (byte === openBracket && this.#depth === itemsDepth) {
        this.#inItems = this.#followsItemsKey(chunk.subarray(from, at - 1))
        if (this.#inItems) break
      }
    }
    this.#hold(this.#outside, chunk.subarray(from, at))
    if (this.#inItems) this.#headParts ??= this.#outside.length
    return at
  }

  /** Runs to the end of the items array or of the chunk, collecting elements. */
  #splitItems(chunk: Buffer, from: number, found: Buffer[]): number {
    let at = from
    while (at < chunk.length) {
      const end = this.#findItemEnd(chunk, at)
      if (end === chunk.length) {
        this.#hold(this.#item, chunk.subarray(at))
        return end
      }
      const text = this.#finishItem(chunk.subarray(at, end))
      if (chunk[end] === comma) found.push(text)
      else {
        // An empty array has no element, only perhaps a space.
        if (!isBlank(text)) found.push(text)
        return this.#leaveItems(chunk, end)
      }
      at = end + 1
    }
    return at
  }

  /** The position of the comma or bracket that ends the current element, or the chunk's end. */
  #findItemEnd(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length) {
      if (this.#inString) {
        at = this.#skipString(chunk, at)
        continue
      }
      const byte = chunk[at] as number
      if (this.#depth === itemsDepth && (byte === comma || byte === closeBracket)) return at
      this.#nest(byte)
      at++
    }
    return chunk.length
  }

  /** Takes note of one byte outside strings. */
  #nest(byte: number): void {
    if (byte === quote) this.#inString = true
    else if (byte === openBrace || byte === openBracket) this.#depth++
    else if (byte === closeBrace || byte === closeBracket) {
      this.#depth--
      if (this.#depth === 0) this.#complete = true
    }
  }

  /** The position after the quote that ends the string, or the chunk's end. */
  #skipString(chunk: Buffer, from: number): number {
    let at = from
    if (this.#escaped) {
      this.#escaped = false
      at++
    }
    while (at < chunk.length) {
      const byte = chunk[at++]
      if (byte === quote) {
        this.#inString = false
        return at
      }
      if (byte === backslash) {
        if (at === chunk.length) this.#escaped = true
        at++
      }
    }
    return chunk.length
  }

  #leaveItems(chunk: Buffer, at: number): number {
    this.#depth = itemsDepth - 1
    this.#inItems = false
    this.#hold(this.#outside, chunk.subarray(at, at + 1))
    return at + 1
  }

  #finishItem(end: Buffer): Buffer {
    if (this.#item.length === 0) return end
    const text = Buffer.concat([...this.#item, end])
    this.#item = []
    this.#held = 0
    return text
  }

  #hold(parts: Buffer[], bytes: Buffer): void {
    parts.push(bytes)
    this.#held += bytes.length
  }

  #followsItemsKey(before: Buffer): boolean {
    return endsWithItemsKey.test(Buffer.concat([...this.#outside, before]).toString())
  }
}

function isBlank(text: Buffer): boolean {
  return text.every(byte => byte <= space)
}

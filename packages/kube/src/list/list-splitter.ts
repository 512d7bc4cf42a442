const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const space = 0x20

/** Nesting depth at which the elements of the root object's `items` lie. */
const itemsDepth = 2

/** The key must be a whole key: a quote that is part of a string has a backslash before it. */
const endsWithItemsKey = /[{,]\s*"items"\s*:\s*$/

/** Everything of a list but its items. */
export interface ListEnvelope {
  apiVersion?: string
  kind?: string
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
  #inString = false
  #escaped = false
  #inItems = false
  #complete = false
  /** Bytes of the element that earlier chunks began. */
  #item: Buffer[] = []
  /** Bytes outside `items`: together a list of no items. */
  #outside: Buffer[] = []
  #held = 0
  readonly #maxHeldBytes: number

  /** `maxHeldBytes` bounds one element, and the object without its items. */
  constructor({ maxHeldBytes = 256 * 1024 * 1024 }: { maxHeldBytes?: number } = {}) {
    this.#maxHeldBytes = maxHeldBytes
  }

  /** The array has begun, or the whole object has been seen. */
  get headComplete(): boolean {
    return this.#inItems || this.#complete
  }

  /** The root object has been closed. */
  get complete(): boolean {
    return this.#complete
  }

  /** The JSON text of each element that ends within this chunk. Throws RangeError past `maxHeldBytes`. */
  push(chunk: Buffer): string[] {
    const found: string[] = []
    let at = 0
    while (at < chunk.length) {
      at = this.#inItems ? this.#splitItems(chunk, at, found) : this.#skipOutside(chunk, at)
    }
    if (this.#held > this.#maxHeldBytes) {
      throw new RangeError(`more than ${this.#maxHeldBytes} bytes without the end of an item`)
    }
    return found
  }

  /** What stood outside `items` so far. Throws SyntaxError when that is not JSON. */
  envelope(): ListEnvelope {
    const text = Buffer.concat(this.#outside).toString()
    return JSON.parse(this.#complete ? text : `${text}]}`) as ListEnvelope
  }

  /** Runs to the start of the items array or the end of the chunk. */
  #skipOutside(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length) {
      if (this.#inString) {
        at = this.#skipString(chunk, at)
        continue
      }
      const byte = chunk[at++]
      if (byte === quote) this.#inString = true
      else if (byte === openBrace) this.#depth++
      else if (byte === closeBrace || byte === closeBracket) {
        this.#depth--
        if (this.#depth === 0) this.#complete = true
      } else if (byte === openBracket) {
        this.#depth++
        if (this.#depth === itemsDepth && this.#followsItemsKey(chunk.subarray(from, at - 1))) {
          this.#hold(this.#outside, chunk.subarray(from, at))
          this.#held = 0
          this.#inItems = true
          return at
        }
      }
    }
    this.#hold(this.#outside, chunk.subarray(from, at))
    return at
  }

  /** Runs to the end of the items array or of the chunk, collecting elements. */
  #splitItems(chunk: Buffer, from: number, found: string[]): number {
    let at = from
    let start = this.#item.length > 0 ? from : -1
    let depth = this.#depth
    while (at < chunk.length) {
      if (this.#inString) {
        at = this.#skipString(chunk, at)
        continue
      }
      const byte = chunk[at] as number
      if (depth === itemsDepth && (byte === comma || byte === closeBracket)) {
        if (start >= 0) found.push(this.#finishItem(chunk.subarray(start, at)))
        start = -1
        if (byte === closeBracket) {
          this.#depth = itemsDepth - 1
          this.#inItems = false
          return this.#skipOutside(chunk, at + 1, at)
        }
        at++
        continue
      }
      if (start < 0 && byte > space) start = at
      if (byte === quote) this.#inString = true
      else if (byte === openBrace || byte === openBracket) depth++
      else if (byte === closeBrace || byte === closeBracket) depth--
      at++
    }
    this.#depth = depth
    if (start >= 0) this.#hold(this.#item, chunk.subarray(start))
    return at
  }
}

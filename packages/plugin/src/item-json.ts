import type { ActionItem } from './item-actions.ts'

// Also matches inside of strings; then the careful way is taken for nothing, and nothing is lost.
const longInteger = /[:[,]\s*-?\d{16,}/

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/**
 * The object in a JSON text. Integers beyond 2^53 are kept as they are written: they are `JSON.rawJSON` values, which
 * `serializeItem` writes as they were. Throws SyntaxError.
 */
export function parseItem(bytes: Uint8Array): ActionItem {
  const text = decoder.decode(bytes)
  return longInteger.test(text) ? JSON.parse(text, keepInteger) : JSON.parse(text)
}

/** The compact JSON of an object. */
export function serializeItem(item: object): Uint8Array {
  return encoder.encode(JSON.stringify(item))
}

function keepInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context?.source === undefined) return value
  return /^-?\d+$/.test(context.source) ? json.rawJSON(context.source) : value
}

/** Part of Node since 22, and of the language, but not yet of the compiler's library. */
const json = JSON as typeof JSON & { rawJSON(text: string): unknown }

import { parseItem } from '../../item/item-json.ts'

/** What the text of a value means, or why it means nothing. */
export type PatchValue = { readonly value: unknown } | { readonly problem: string }

const encoder = new TextEncoder()

/**
 * The value that a text of a rule stands for. `null`, truth values, numbers, objects and lists are what they look like;
 * everything else is text, and so is what is in double quotes. In text, the escapes of JSON hold.
 */
export function parsePatchValue(text: string): PatchValue {
  if (text.startsWith('"') && text.endsWith('"')) return parseText(text.slice(1, -1))
  const isJson = text === 'null' || /^(?:true|false)$/i.test(text) || /^[{[]/.test(text)
  if (!isJson && !isGoNumber(text)) return parseText(text)
  const value = parseJson(text)
  if (value !== undefined) return { value }
  const advice = /^[{[]/.test(text) ? '' : '; put it in double quotes inside of the quotes if text is meant'
  return { problem: `${JSON.stringify(text)} is no value of JSON${advice}` }
}

/** A text as it stands between the quotes of JSON: a quote or backslash needs a backslash. */
export function parseText(text: string): PatchValue {
  const value = parseJson(`"${text}"`)
  if (typeof value === 'string') return { value }
  return {
    problem: `${JSON.stringify(text)} cannot be text of JSON; write \\" for a quote, \\\\ for a backslash`,
  }
}

/** Undefined when it is not one value of JSON. Long integers stay as they are written. */
function parseJson(text: string): unknown {
  try {
    // In a list, because only there a long integer is found.
    const values: unknown = parseItem(encoder.encode(`[${text}]`))
    return Array.isArray(values) && values.length === 1 ? values[0] : undefined
  } catch {
    return undefined
  }
}

const digits = '\\d+(?:_\\d+)*'
const hexDigits = '[\\da-f]+(?:_[\\da-f]+)*'
const decimal = new RegExp(`^[-+]?(?:${digits}\\.?(?:${digits})?|\\.${digits})(?:e[-+]?${digits})?$`, 'i')
const hexadecimal = new RegExp(
  `^[-+]?0x_?(?:${hexDigits}\\.?(?:${hexDigits})?|\\.${hexDigits})p[-+]?${digits}$`,
  'i',
)
const notFinite = /^[-+]?(?:inf|infinity)$|^nan$/i

/** Whether Go reads it as a floating-point number. One that is too large is none. */
function isGoNumber(text: string): boolean {
  if (decimal.test(text)) return Number.isFinite(Number(text.replaceAll('_', '')))
  return hexadecimal.test(text) || notFinite.test(text)
}

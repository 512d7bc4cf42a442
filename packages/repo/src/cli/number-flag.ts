import { usageError } from './usage-error.ts'

/** The whole number from 1 that a flag holds; undefined when it was not given. Throws `INVALID_ARGUMENT`. */
export function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usageError(`--${name} ${text} is no whole number from 1`)
  return Number(text)
}

/** The share from 0 to 100 that a flag holds. Throws `INVALID_ARGUMENT`. */
export function percentage(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(value <= 100)) throw usageError(`--${name} ${text} is no number from 0 to 100`)
  return value
}

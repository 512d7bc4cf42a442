import { InvalidTextError } from './invalid-text-error.ts'

const form = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
const maxLength = 64

/**
 * The milliseconds since the epoch of an RFC 3339 time.
 * Throws InvalidTextError (`INVALID_TIME`) when the text is none, or names a day or hour that does not exist.
 */
export function parseTime(text: string): number {
  const [, date, clock, fraction, zone] = (text.length <= maxLength && form.exec(text)) || []
  if (date === undefined || clock === undefined || zone === undefined) throw invalidTime(text)
  const local = Date.parse(`${date}T${clock}Z`)
  const exists = !Number.isNaN(local) && new Date(local).toISOString().startsWith(`${date}T${clock}`)
  if (!exists) throw invalidTime(text)
  const moment = Date.parse(`${date}T${clock}${(fraction ?? '').slice(0, 4)}${zone.toUpperCase()}`)
  if (Number.isNaN(moment)) throw invalidTime(text)
  return moment
}

/** The time as Kubernetes writes it: UTC, whole seconds, such as `2026-01-02T03:04:05Z`. */
export function formatTime(millisecondsSinceEpoch: number): string {
  return new Date(millisecondsSinceEpoch).toISOString().replace(/\.\d+Z$/, 'Z')
}

function invalidTime(text: string): InvalidTextError {
  return new InvalidTextError(
    'INVALID_TIME',
    `'${text.slice(0, maxLength)}' is not a time`,
    'write one such as 2026-01-02T03:04:05Z',
  )
}

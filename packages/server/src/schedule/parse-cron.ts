import { parseGoDuration } from '@lateen/api'
import { type TimeZone, timeZone } from './zoned-time.ts'

/** A cron expression that cannot be used; the message says which part, and why. */
export class CronError extends Error {
  override readonly name = 'CronError'
  readonly code = 'INVALID_CRON'
  readonly hint = 'write five fields such as "0 3 * * *", a word such as @daily, or "@every 6h"'
}

/** The values of one field that match. */
export type CronField = ReadonlySet<number>

/** When to do something again and again. */
export type CronSchedule =
  | {
      type: 'fields'
      minute: CronField
      hour: CronField
      day: CronField
      month: CronField
      weekday: CronField
      zone: TimeZone
    }
  | { type: 'every'; milliseconds: number }
  /** At no time of its own. */
  | { type: 'never' }

interface Bounds {
  name: string
  min: number
  max: number
  names?: readonly string[]
}

const minutes: Bounds = { name: 'minute', min: 0, max: 59 }
const hours: Bounds = { name: 'hour', min: 0, max: 23 }
const days: Bounds = { name: 'day of month', min: 1, max: 31 }
const months: Bounds = {
  name: 'month',
  min: 1,
  max: 12,
  names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
}
// Sunday is 0 and 7.
const weekdays: Bounds = {
  name: 'day of week',
  min: 0,
  max: 7,
  names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
}

const words: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

const longest = 1024

/**
 * Reads what `spec.schedule` of a Schedule means to Velero: five fields, of which all must match, or a word, after an optional
 * `TZ=` or `CRON_TZ=`. `localZone` is the zone of expressions without one. Throws CronError.
 */
export function parseCron(text: string, localZone: TimeZone): CronSchedule {
  if (text === '') throw new CronError('it is empty')
  if (Buffer.byteLength(text) > longest) throw new CronError(`it is longer than ${longest} bytes`)
  const { zone, rest } = takeZone(text, localZone)
  if (['@triggered', '@manual', '@none'].includes(rest)) return { type: 'never' }
  if (rest.startsWith('@every ')) return parseEvery(rest.slice('@every '.length))
  const fields = (rest.startsWith('@') ? wordFields(rest) : rest).split(/\s+/).filter(field => field !== '')
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields
  if (fields.length !== 5) {
    throw new CronError(`it has ${fields.length} fields, and not 5: ${JSON.stringify(rest)}`)
  }
  return {
    type: 'fields',
    minute: parseField(minute, minutes),
    hour: parseField(hour, hours),
    month: parseField(month, months),
    day: parseField(day, days),
    weekday: new Set([...parseField(weekday, weekdays)].map(value => value % 7)),
    zone,
  }
}

function wordFields(word: string): string {
  const fields = words[word]
  if (fields !== undefined) return fields
  throw new CronError(`${JSON.stringify(word)} is none of ${Object.keys(words).join(', ')}, @every`)
}

function parseEvery(text: string): CronSchedule {
  let nanoseconds: bigint
  try {
    nanoseconds = parseGoDuration(text)
  } catch {
    throw new CronError(`${JSON.stringify(text)} after @every is not a duration such as 90m or 24h`)
  }
  if (nanoseconds < 1_000_000_000n) throw new CronError(`@every ${text} is less than a second`)
  return { type: 'every', milliseconds: Number(nanoseconds / 1_000_000_000n) * 1000 }
}

function takeZone(text: string, localZone: TimeZone): { zone: TimeZone; rest: string } {
  const [, given] = /^(?:CRON_)?TZ=([^ ]*)/.exec(text) ?? []
  if (given === undefined) return { zone: localZone, rest: text }
  const name = given.replace(/^(["'])(.*)\1$/, '$2')
  const rest = text.slice(text.indexOf(given) + given.length).trim()
  if (rest === '') throw new CronError(`nothing follows the time zone ${name}`)
  const isName = name.length <= 64 && /^[A-Za-z0-9/_+:-]+$/.test(name)
  const zone = name === 'Local' ? localZone : isName ? timeZone(name) : undefined
  if (zone === undefined) throw new CronError(`${JSON.stringify(name)} is not a time zone`)
  return { zone, rest }
}

function parseField(text: string, bounds: Bounds): CronField {
  const values = new Set<number>()
  for (const range of text.split(',')) {
    if (range !== '') for (const value of parseRange(range, bounds)) values.add(value)
  }
  return values
}

interface Range {
  from: number
  to: number
  step: number
}

function parseRange(text: string, bounds: Bounds): number[] {
  const wrong: Wrong = reason => new CronError(`${reason} in the ${bounds.name} ${JSON.stringify(text)}`)
  const { from, to, step } = readRange(text, bounds, wrong)
  const { min, max } = bounds
  if (from < min) throw wrong(`${from} is less than ${min}`)
  if (to > max) throw wrong(`${to} is more than ${max}`)
  const span = max - min + 1
  // A range may go past the end and on from the beginning, such as 22-2 for hours.
  const last = from > to ? to + span : to
  if (step === 0) throw wrong('the step is 0')
  if (step > 1 && step >= last - from + 1) throw wrong(`the step ${step} reaches beyond the range`)
  const values: number[] = []
  for (let value = from; value <= last; value += step) values.push(value > max ? value - span : value)
  return values
}

function readRange(text: string, bounds: Bounds, wrong: Wrong): Range {
  const [range = '', stepText, ...more] = text.split('/')
  const [first = '', second, ...others] = range.split('-')
  if (more.length > 0) throw wrong('there is more than one "/"')
  const step = stepText === undefined ? 1 : parseNumber(stepText, wrong)
  if (first === '*' || first === '?') return { from: bounds.min, to: bounds.max, step }
  if (others.length > 0) throw wrong('there is more than one "-"')
  const from = parseValue(first, bounds, wrong)
  if (second !== undefined) return { from, to: parseValue(second, bounds, wrong), step }
  // "N/step" goes on to the largest value.
  return { from, to: stepText === undefined ? from : bounds.max, step }
}

type Wrong = (reason: string) => CronError

function parseValue(text: string, { min, names }: Bounds, wrong: Wrong): number {
  const named = names?.indexOf(text.toLowerCase()) ?? -1
  return named >= 0 ? named + min : parseNumber(text, wrong)
}

function parseNumber(text: string, wrong: Wrong): number {
  if (/^\+?\d{1,15}$/.test(text)) return Number(text)
  throw wrong(`${JSON.stringify(text)} is not a number`)
}

/** What Go shows for a time that nobody has set. */
export const ZERO_TIME = '0001-01-01 00:00:00 +0000 UTC'

/**
 * A timestamp as Velero prints it: Go's `time.Time` notation in the local zone, such as
 * `2026-03-01 09:30:00 +0100 CET`. Returns the text itself when it is no timestamp.
 */
export function goTime(timestamp: string, timeZone?: string): string {
  const time = new Date(timestamp)
  if (Number.isNaN(time.getTime())) return timestamp
  const zone = timeZone === undefined ? {} : { timeZone }
  const { date, clock, offset } = timeZone === undefined ? localParts(time) : partsIn(time, timeZone)
  const name = timeZone === undefined && isUtc(time) ? 'UTC' : (zoneName(time, zone) ?? unnamedZone(offset))
  return `${date} ${clock} ${offset} ${name}`
}

interface TimeParts {
  readonly date: string
  readonly clock: string
  readonly offset: string
}

function partsIn(time: Date, timeZone: string): TimeParts {
  const parts = new Map(
    formatter('en-GB', { timeZone, ...wholeTime })
      .formatToParts(time)
      .map(part => [part.type, part.value]),
  )
  return {
    date: `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`,
    clock: `${parts.get('hour')}:${parts.get('minute')}:${parts.get('second')}`,
    offset: parts.get('timeZoneName')?.replace('GMT', '').replace(':', '') || '+0000',
  }
}

/** Without a formatter: the first one takes as long as a tenth of a short command. */
function localParts(time: Date): TimeParts {
  const two = (number: number) => String(number).padStart(2, '0')
  const minutes = -time.getTimezoneOffset()
  const ahead = Math.abs(minutes)
  return {
    date: `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`,
    clock: `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`,
    offset: `${minutes < 0 ? '-' : '+'}${two(Math.floor(ahead / 60))}${two(ahead % 60)}`,
  }
}

/**
 * Whether the local zone is UTC, as it is in most containers. Zones that follow Greenwich today did not at one of these times: before
 * they had zones, with daylight saving in the war, in Britain's years of standard time, or in a summer of this year.
 */
function isUtc(time: Date): boolean {
  const year = time.getUTCFullYear()
  const times = [
    Date.UTC(1880, 0),
    Date.UTC(1942, 6),
    Date.UTC(1970, 0),
    Date.UTC(year, 0),
    Date.UTC(year, 6),
    time.getTime(),
  ]
  return times.every(each => new Date(each).getTimezoneOffset() === 0)
}

const wholeTime = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'longOffset',
} as const

const formatters = new Map<string, Intl.DateTimeFormat>()

/** Making a formatter takes longer than using it a hundred times. */
function formatter(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${JSON.stringify(options)}`
  const known = formatters.get(key) ?? new Intl.DateTimeFormat(locale, options)
  formatters.set(key, known)
  return known
}

function zoneName(time: Date, zone: { timeZone?: string }): string | undefined {
  for (const locale of ['en-US', 'en-GB', 'en-AU', 'en-IN']) {
    const parts = formatter(locale, { ...zone, timeZoneName: 'short' }).formatToParts(time)
    const name = parts.find(part => part.type === 'timeZoneName')?.value
    if (name !== undefined && /^[A-Z]{2,5}$/.test(name)) return name
  }
  return undefined
}

/** Zones without an abbreviation are named by their offset, in hours when it is whole. */
function unnamedZone(offset: string): string {
  return offset.endsWith('00') ? offset.slice(0, 3) : offset
}

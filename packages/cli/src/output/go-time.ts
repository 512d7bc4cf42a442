/**
 * A timestamp as Velero prints it: Go's `time.Time` notation in the local zone, such as
 * `2026-03-01 09:30:00 +0100 CET`. Returns the text itself when it is no timestamp.
 */
export function goTime(timestamp: string, timeZone?: string): string {
  const time = new Date(timestamp)
  if (Number.isNaN(time.getTime())) return timestamp
  const zone = timeZone === undefined ? {} : { timeZone }
  const parts = new Map(
    formatter('en-GB', { ...zone, ...wholeTime })
      .formatToParts(time)
      .map(part => [part.type, part.value]),
  )
  const date = `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`
  const clock = `${parts.get('hour')}:${parts.get('minute')}:${parts.get('second')}`
  const offset = parts.get('timeZoneName')?.replace('GMT', '').replace(':', '') || '+0000'
  return `${date} ${clock} ${offset} ${zoneName(time, zone) ?? unnamedZone(offset)}`
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

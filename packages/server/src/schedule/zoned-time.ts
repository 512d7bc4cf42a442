/** What clocks on the wall show. Months count from 1, the day of the week from Sunday, which is 0. */
export interface WallTime {
  year: number
  month: number
  day: number
  weekday: number
  hour: number
  minute: number
  second: number
}

/** Instants (milliseconds since 1970) and what the clocks of one zone show at them. */
export interface TimeZone {
  readonly name: string
  wallAt(instant: number): WallTime
  /**
   * When clocks show this; fields beyond their range count on into the next, so that day 32 is a day of the next month. Where clocks
   * are put forward past it or show it twice, it is what Go's `time.Date` takes.
   */
  instantOf(wall: Omit<WallTime, 'weekday'>): number
}

/** The zone of that name, such as `Europe/Berlin`, or undefined when there is none. */
export function timeZone(name: string): TimeZone | undefined {
  if (name === 'UTC') return zoneOf(name, () => 0)
  const offsetAt = offsetsOf(name)
  return offsetAt && zoneOf(name, offsetAt)
}

function zoneOf(name: string, offsetAt: (instant: number) => number): TimeZone {
  return {
    name,
    wallAt(instant) {
      const shifted = new Date(instant + offsetAt(instant))
      return {
        year: shifted.getUTCFullYear(),
        month: shifted.getUTCMonth() + 1,
        day: shifted.getUTCDate(),
        weekday: shifted.getUTCDay(),
        hour: shifted.getUTCHours(),
        minute: shifted.getUTCMinutes(),
        second: shifted.getUTCSeconds(),
      }
    },
    instantOf({ year, month, day, hour, minute, second }) {
      const shown = Date.UTC(year, month - 1, day, hour, minute, second)
      return shown - offsetAt(shown - offsetAt(shown))
    },
  }
}

function offsetsOf(name: string): ((instant: number) => number) | undefined {
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    })
  } catch {
    return undefined
  }
  return instant => {
    const shown = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 }
    for (const { type, value } of format.formatToParts(instant)) {
      if (type in shown) shown[type as keyof typeof shown] = Number(value)
    }
    const { year, month, day, hour, minute, second } = shown
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1000) * 1000
  }
}

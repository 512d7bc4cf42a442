const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** A length of time in its largest unit, rounded down, as kubectl shows ages: `29d`, `3h`, `45s`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.trunc(milliseconds / 1000))
  if (seconds < MINUTE) return `${seconds}s`
  if (seconds < HOUR) return `${Math.trunc(seconds / MINUTE)}m`
  if (seconds < DAY) return `${Math.trunc(seconds / HOUR)}h`
  if (seconds < YEAR) return `${Math.trunc(seconds / DAY)}d`
  return `${Math.trunc(seconds / YEAR)}y`
}

/** A time as seen from now: `29d`, or `3h ago`. */
export function fromNow(time: number, now: number): string {
  return time >= now ? humanDuration(time - now) : `${humanDuration(now - time)} ago`
}

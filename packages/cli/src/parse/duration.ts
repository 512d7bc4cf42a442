const NANOSECONDS = new Map<string, bigint>([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])
const LARGEST = 2n ** 63n - 1n
const PART = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y

/** A length of time with Go's precision and notation. */
export interface Duration {
  readonly nanoseconds: bigint
  /** Rounded towards zero. */
  readonly milliseconds: number
  /** As Go prints it (`1h0m0s`), which is the form stored in objects. */
  readonly text: string
}

/** Reads what Go's `time.ParseDuration` reads (`90s`, `1h30m`, `0`, `-1.5h`); undefined for anything else. */
export function parseDuration(text: string): Duration | undefined {
  const negative = text.startsWith('-')
  const body = negative || text.startsWith('+') ? text.slice(1) : text
  if (body === '0') return durationOf(0n)
  if (body === '') return undefined
  let total = 0n
  PART.lastIndex = 0
  while (PART.lastIndex < body.length) {
    const part = PART.exec(body)
    if (part === null) return undefined
    const nanoseconds = nanosecondsOf(part[1] ?? '', part[2] ?? '', part[3] ?? '')
    if (nanoseconds === undefined) return undefined
    total += nanoseconds
    if (total > LARGEST) return undefined
  }
  return durationOf(negative ? -total : total)
}

function nanosecondsOf(whole: string, fraction: string, unit: string): bigint | undefined {
  const size = NANOSECONDS.get(unit)
  if (size === undefined || (whole === '' && fraction === '')) return undefined
  const scale = 10n ** BigInt(fraction.length)
  return BigInt(whole || '0') * size + (BigInt(fraction || '0') * size) / scale
}

/** The duration of so many nanoseconds. */
export function durationOf(nanoseconds: bigint): Duration {
  return {
    nanoseconds,
    milliseconds: Number(nanoseconds / 1_000_000n),
    text: formatNanoseconds(nanoseconds),
  }
}

function formatNanoseconds(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s'
  if (nanoseconds < 0n) return `-${formatNanoseconds(-nanoseconds)}`
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 1_000n)}µs`
  if (nanoseconds < 1_000_000_000n) return `${decimal(nanoseconds, 1_000_000n)}ms`
  const seconds = `${decimal(nanoseconds % 60_000_000_000n, 1_000_000_000n)}s`
  const minutes = nanoseconds / 60_000_000_000n
  if (minutes === 0n) return seconds
  const hours = minutes / 60n
  return hours === 0n ? `${minutes}m${seconds}` : `${hours}h${minutes % 60n}m${seconds}`
}

function decimal(value: bigint, unit: bigint): string {
  const rest = value % unit
  if (rest === 0n) return String(value / unit)
  const digits = String(rest).padStart(String(unit).length - 1, '0').replace(/0+$/, '')
  return `${value / unit}.${digits}`
}

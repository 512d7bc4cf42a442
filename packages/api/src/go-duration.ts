import { InvalidTextError } from './invalid-text-error.ts'

const nanosecondsPer: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

const nanosecondsPerMillisecond = 1_000_000n
const longest = 2n ** 63n
const element = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y
// Longer text cannot be a duration that anyone wrote, and is not worth quoting.
const maxLength = 200

/**
 * The nanoseconds of a Go duration such as `720h0m0s`, `1.5h` or `-100ms`.
 * Throws InvalidTextError (`INVALID_DURATION`) for anything that Go would not parse.
 * Fractions are rounded as Go rounds them.
 */
export function parseGoDuration(text: string): bigint {
  const unsigned = text.length > maxLength ? '' : text.replace(/^[+-]/, '')
  if (unsigned === '0') return 0n
  if (unsigned === '') throw invalidDuration(text)
  let total = 0n
  element.lastIndex = 0
  while (element.lastIndex < unsigned.length) {
    const [, whole = '', fraction = '', unit = ''] = element.exec(unsigned) ?? []
    const size = nanosecondsPer[unit]
    if (size === undefined || whole + fraction === '') throw invalidDuration(text)
    total += BigInt(whole) * size + nanosecondsOfFraction(fraction, size)
  }
  const signed = text.startsWith('-') ? -total : total
  if (signed < -longest || signed >= longest) throw invalidDuration(text)
  return signed
}

/** The text that Go writes for a duration in nanoseconds: `720h0m0s`, `1.5s`, `100ms`, `0s`. */
export function formatGoDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s'
  const sign = nanoseconds < 0n ? '-' : ''
  const length = nanoseconds < 0n ? -nanoseconds : nanoseconds
  if (length < 1_000n) return `${sign}${length}ns`
  if (length < 1_000_000n) return `${sign}${decimal(length, 3)}µs`
  if (length < 1_000_000_000n) return `${sign}${decimal(length, 6)}ms`
  const seconds = `${decimal(length % 60_000_000_000n, 9)}s`
  const minutes = length / 60_000_000_000n
  if (minutes === 0n) return `${sign}${seconds}`
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`
}

/**
 * The milliseconds of a duration in a spec, rounded down, or undefined when it is missing, null or empty.
 * Throws InvalidTextError (`INVALID_DURATION`).
 */
export function durationMilliseconds(text: string | null | undefined): number | undefined {
  if (!text) return undefined
  return Number(parseGoDuration(text) / nanosecondsPerMillisecond)
}

/** The Go duration of a number of milliseconds; parts of a nanosecond are dropped. */
export function goDurationOf(milliseconds: number): string {
  return formatGoDuration(BigInt(Math.trunc(milliseconds * 1_000_000)))
}

// Go multiplies the digits that fit into 63 bits in floating point (time.ParseDuration); so must we, to agree on
// the last nanosecond.
function nanosecondsOfFraction(digits: string, unit: bigint): bigint {
  let value = 0n
  let scale = 1
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit)
    if (next > longest) break
    value = next
    scale *= 10
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)))
}

function decimal(value: bigint, digits: number): string {
  const unit = 10n ** BigInt(digits)
  const fraction = (value % unit).toString().padStart(digits, '0').replace(/0+$/, '')
  return fraction ? `${value / unit}.${fraction}` : `${value / unit}`
}

function invalidDuration(text: string): InvalidTextError {
  return new InvalidTextError(
    'INVALID_DURATION',
    `'${text.slice(0, maxLength)}' is not a duration`,
    'write one such as 10m, 1h30m or 720h0m0s',
  )
}

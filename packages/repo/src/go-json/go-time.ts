import { corrupt, RepoError } from '../errors/repo-error.ts'

/** Nanoseconds since the Unix epoch, negative before it; the years 0 to 9999 have a text form. */
export type GoTime = bigint

const perMilli = 1_000_000n
const perSecond = 1_000_000_000n
const pattern = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/

/** The time of a clock reading in milliseconds. */
export function goTimeFromMillis(ms: number): GoTime {
  return BigInt(Math.trunc(ms)) * perMilli
}

/** Milliseconds since the Unix epoch, rounded down. */
export function goTimeToMillis(time: GoTime): number {
  return Number(floorDiv(time, perMilli))
}

/**
 * RFC 3339 in UTC with `Z`; the fraction has no trailing zeros and is left out when zero.
 * Throws `INVALID_ARGUMENT` outside the years 0 to 9999.
 */
export function formatGoTime(time: GoTime): string {
  const seconds = floorDiv(time, perSecond)
  const date = new Date(Number(seconds) * 1000)
  const text = Number.isNaN(date.getTime()) ? '' : date.toISOString()
  if (text.length !== 24) {
    throw new RepoError('INVALID_ARGUMENT', {
      message: `The time ${time} ns lies outside the years 0 to 9999`,
    })
  }
  const fraction = (time - seconds * perSecond).toString().padStart(9, '0').replace(/0+$/, '')
  return fraction === '' ? `${text.slice(0, 19)}Z` : `${text.slice(0, 19)}.${fraction}Z`
}

/**
 * Parses RFC 3339 with any offset and any number of fraction digits (those beyond nine are dropped).
 * Throws `CORRUPT` for anything else.
 */
export function parseGoTime(text: string): GoTime {
  const [, day, clock, fraction = '', zone = 'Z'] = pattern.exec(text) ?? []
  const seconds = Date.parse(`${day}T${clock}Z`) / 1000
  if (Number.isNaN(seconds) || !new Date(seconds * 1000).toISOString().startsWith(`${day}T`)) {
    throw corrupt(`${JSON.stringify(text)} is not an RFC 3339 time`)
  }
  const nanos = BigInt(fraction.slice(0, 9).padEnd(9, '0'))
  return BigInt(seconds - zoneSeconds(zone)) * perSecond + nanos
}

function zoneSeconds(zone: string): number {
  if (zone === 'Z') return 0
  const seconds = Number(zone.slice(1, 3)) * 3600 + Number(zone.slice(4, 6)) * 60
  return zone.startsWith('-') ? -seconds : seconds
}

function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b
  return a % b < 0n ? quotient - 1n : quotient
}

import { formatGoDuration, InvalidTextError, parseGoDuration } from '@lateen/api'

/** A length of time with Go's precision and notation. */
export interface Duration {
  readonly nanoseconds: bigint
  /** Rounded towards zero. */
  readonly milliseconds: number
  /** As Go prints it (`1h0m0s`), which is the form stored in objects. */
  readonly text: string
}

/** Reads a Go duration (`90s`, `1h30m`, `0`, `-1.5h`); undefined for anything else. */
export function parseDuration(text: string): Duration | undefined {
  try {
    const nanoseconds = parseGoDuration(text)
    return {
      nanoseconds,
      milliseconds: Number(nanoseconds / 1_000_000n),
      text: formatGoDuration(nanoseconds),
    }
  } catch (error) {
    if (error instanceof InvalidTextError) return undefined
    throw error
  }
}

/** Random values that a seed determines: the same seed gives the same values on every machine. */
export interface SeededRandom {
  readonly seed: number
  /** At least 0, below 1. */
  next(): number
  /** A whole number of at least `from`, below `to`. */
  integer(from: number, to: number): number
  /** True with the given probability. */
  chance(probability: number): boolean
  /** One of the values. Throws RangeError when there is none. */
  pick<T>(values: readonly T[]): T
  /** The values in another order, as a new array. */
  shuffle<T>(values: readonly T[]): T[]
  bytes(length: number): Uint8Array
}

/**
 * A generator for tests (mulberry32: 32 bits of state, public domain by Tommy Ettinger). Not for secrets.
 *
 *     const random = seededRandom(42)
 *     const cut = random.integer(0, data.length)
 */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  const word = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const next = () => word() / 2 ** 32
  const integer = (from: number, to: number) => from + Math.floor(next() * (to - from))
  return {
    seed,
    next,
    integer,
    chance: probability => next() < probability,
    pick: values => {
      if (values.length === 0) throw new RangeError('pick: there is nothing to pick from')
      return values[integer(0, values.length)] as (typeof values)[number]
    },
    shuffle: values => {
      const rest = [...values]
      return values.map(() => rest.splice(integer(0, rest.length), 1)[0] as (typeof values)[number])
    },
    bytes: length => Uint8Array.from({ length }, () => word() >>> 24),
  }
}

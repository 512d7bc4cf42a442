/** How many requests may be under way, and what that was concluded from. */
export interface Pace {
  readonly limit: number
  /** The mean time of an answer when the server was least busy, slowly forgotten; undefined before the first round. */
  readonly calmMs: number | undefined
  /** Of the round that is under way: as many answers as requests are allowed. */
  readonly answers: number
  readonly totalMs: number
  /** Doubling, until the server first shows that it is enough. */
  readonly doubling: boolean
  /** Refusals until this many answers have come belong to the requests that the last one already slowed down. */
  readonly forgiven: number
}

export type PaceEvent =
  | { kind: 'answered'; ms: number }
  /** The server said that there are too many requests. */
  | { kind: 'refused' }

/** At most this many requests are under way at first. */
const firstLimit = 8
/** Answers that come within this time are quick enough, however quick others were. */
const quickMs = 100
/** Answers that take this many times as long as in calm hours show that requests wait in the server. */
const busyFactor = 4
/** How much of what was learned about calm hours a round forgets. */
const forgetting = 1.02

export function startPace(most: number): Pace {
  const limit = Math.max(1, Math.min(firstLimit, most))
  return { limit, calmMs: undefined, answers: 0, totalMs: 0, doubling: true, forgiven: 0 }
}

/** The pace after something happened, never above `most`: quick answers make it grow, slow ones and refusals make it shrink. */
export function nextPace(pace: Pace, event: PaceEvent, most: number): Pace {
  if (event.kind === 'refused') return slowedDown(pace, 0.5)
  const answers = pace.answers + 1
  const totalMs = pace.totalMs + event.ms
  const forgiven = Math.max(0, pace.forgiven - 1)
  if (answers < pace.limit) return { ...pace, answers, totalMs, forgiven }
  return afterRound({ ...pace, forgiven }, totalMs / answers, most)
}

function afterRound(pace: Pace, meanMs: number, most: number): Pace {
  const calmMs = Math.min(meanMs, (pace.calmMs ?? meanMs) * forgetting)
  const round = { ...pace, calmMs, answers: 0, totalMs: 0 }
  if (meanMs > Math.max(quickMs, calmMs * busyFactor)) return slowedDown({ ...round, forgiven: 0 }, 0.75)
  const grown = pace.doubling ? pace.limit * 2 : pace.limit + 1
  return { ...round, limit: Math.min(most, grown) }
}

function slowedDown(pace: Pace, factor: number): Pace {
  if (pace.forgiven > 0) return pace
  const limit = Math.max(1, Math.floor(pace.limit * factor))
  return { ...pace, limit, answers: 0, totalMs: 0, doubling: false, forgiven: pace.limit }
}

import type { BucketReport } from './bucket-report.ts'

/** Another cluster may be writing what is younger: backups with operations of plugins take hours. */
export const UNCLAIMED_AGE_MS = 24 * 3_600_000

/** How often buckets are looked through. */
const PERIOD_MS = 3_600_000

/** A server that begins has better things to do. */
const FIRST_MS = 5 * 60_000

export interface SurveyFacts {
  before: BucketReport | undefined
  /** The last request to look now. */
  look: string | undefined
  /** When the server began; milliseconds since 1970. */
  began: number
  now: number
}

/** How long to wait before the bucket is looked through again; 0 is now. */
export function nextSurvey({ before, look, began, now }: SurveyFacts): number {
  if (look !== undefined && before?.look !== look) return 0
  const last = before === undefined ? Number.NaN : Math.min(Date.parse(before.at), now)
  const due = Number.isNaN(last) ? began + FIRST_MS : last + PERIOD_MS
  return Math.max(0, due - now)
}

const minute = 60_000
const hour = 60 * minute

/** Waiting times that make maintenance safe beside writers that take no lock; all in milliseconds. */
export interface SafetyParameters {
  /** An unused content younger than this is left alone: an upload that is under way may have written it. */
  readonly minContentAgeForGc: number
  /** Between two snapshot collections, so that uploads which raced the first are visible to the second. */
  readonly marginBetweenGc: number
  /** Deleted contents are dropped only after a second collection had the chance to undelete them. */
  readonly requireTwoGcCycles: boolean
  /** Subtracted from the start of the earlier collection when contents are dropped. */
  readonly dropExtraMargin: number
  /** A content younger than this is not rewritten. */
  readonly rewriteMinAge: number
  /** From a rewrite to the next deletion of packs, so that readers with older indexes can refresh. */
  readonly rewriteToDeleteDelay: number
  /** An unreferenced pack younger than this is left alone: its index may not be written yet. */
  readonly packDeleteMinAge: number
  /**
   * A pack stays that was referenced when the run began, unless by contents that the run itself drops: another maintainer may have begun
   * at the same time, and still mark contents deleted where it saw them then.
   */
  readonly keepReferencedAtStart: boolean
  /** A session whose marker is younger than this protects its packs. */
  readonly sessionExpirationAge: number
}

/** Kopia's and Velero's default: safe beside writers, readers and deleters that keep Kopia's bounds. */
export const safetyFull: SafetyParameters = {
  minContentAgeForGc: 24 * hour,
  marginBetweenGc: 4 * hour,
  requireTwoGcCycles: true,
  dropExtraMargin: hour,
  rewriteMinAge: 2 * hour,
  rewriteToDeleteDelay: hour,
  packDeleteMinAge: 24 * hour,
  keepReferencedAtStart: true,
  sessionExpirationAge: 96 * hour,
}

/** Frees everything at once; safe only while nobody else uses the repository. */
export const safetyNone: SafetyParameters = {
  minContentAgeForGc: 0,
  marginBetweenGc: 0,
  requireTwoGcCycles: false,
  dropExtraMargin: 0,
  rewriteMinAge: 0,
  rewriteToDeleteDelay: 0,
  packDeleteMinAge: 0,
  keepReferencedAtStart: false,
  sessionExpirationAge: 0,
}

/** The two safety levels by the names Kopia's command line gives them. */
export const safetyLevels = { full: safetyFull, none: safetyNone } as const

/** Name of a safety level. */
export type SafetyLevel = keyof typeof safetyLevels

/** Largest difference between our clock and the storage's with which maintenance still runs. */
export const maxClockSkew = 5 * minute

import {
  type Backup,
  type BackupStorageLocation,
  type DeleteBackupRequest,
  labelNames,
  parseTime,
} from '@lateen/api'
import { hasBegun } from '../deletion/decide-deletion.ts'

/** Why an expired backup is still there, as its label says. */
export type GcFailure = 'BSLNotFound' | 'BSLReadOnly' | 'BSLUnavailable'

export interface RetentionFacts {
  backup: Backup
  /** Where it is stored, if that exists. */
  location: BackupStorageLocation | undefined
  /** The schedule that wants it kept. Asked only when it has expired. */
  keptFor: () => string | undefined
  /** Milliseconds since 1970. */
  now: number
}

export type RetentionStep =
  /** It never expires as it is. */
  | { type: 'ignore' }
  | { type: 'wait'; afterMs: number }
  /** It has expired, but its schedule has no later good one. */
  | { type: 'keep'; schedule: string }
  /** It has expired and is still at work. */
  | { type: 'busy' }
  /** It has expired and cannot be deleted now. */
  | { type: 'blocked'; failure: GcFailure }
  | { type: 'expire' }

/** What becomes of a backup as time goes by. */
export function decideRetention({ backup, location, keptFor, now }: RetentionFacts): RetentionStep {
  const expiration = expirationOf(backup)
  if (expiration === undefined || backup.metadata.deletionTimestamp !== undefined) return { type: 'ignore' }
  if (expiration > now) return { type: 'wait', afterMs: expiration - now }
  // Its deletion would be refused.
  if (backup.status?.phase === 'InProgress') return { type: 'busy' }
  const schedule = keptFor()
  if (schedule !== undefined) return { type: 'keep', schedule }
  const failure = hasNothingStored(backup) ? undefined : failureOf(location)
  return failure === undefined ? { type: 'expire' } : { type: 'blocked', failure }
}

/** What the label of a backup has to become; undefined when it is right. Null removes it. */
export function labelChange({ metadata }: Backup, failure: GcFailure | undefined): string | null | undefined {
  const now = metadata.labels?.[labelNames.gcFailure]
  return now === failure ? undefined : (failure ?? null)
}

/** Whether a deletion is asked for that has not ended. */
export function isPending({ status }: DeleteBackupRequest): boolean {
  return status?.phase !== 'Processed'
}

function expirationOf({ status }: Backup): number | undefined {
  try {
    return status?.expiration ? parseTime(status.expiration) : undefined
  } catch {
    return undefined
  }
}

/** Whether it failed before it began: its deletion needs no location. Others may have begun, and not say when. */
function hasNothingStored(backup: Backup): boolean {
  const phase = backup.status?.phase
  return (phase === 'FailedValidation' || phase === 'Failed') && !hasBegun(backup)
}

function failureOf(location: BackupStorageLocation | undefined): GcFailure | undefined {
  if (location === undefined) return 'BSLNotFound'
  if (location.status?.phase !== 'Available') return 'BSLUnavailable'
  return location.spec.accessMode === 'ReadOnly' ? 'BSLReadOnly' : undefined
}

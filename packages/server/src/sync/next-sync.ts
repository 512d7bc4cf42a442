import { type BackupStorageLocation, durationMilliseconds, parseTime } from '@lateen/api'

export interface SyncTimeFacts {
  location: BackupStorageLocation
  /** Milliseconds since 1970. */
  now: number
  /** For locations that do not say; 0 turns it off. */
  serverPeriodMs: number
}

export type SyncTimeStep =
  /** Nothing but a change of the location matters: its bucket is not looked at, or cannot be. */
  { type: 'rest' } | { type: 'wait'; afterMs: number } | { type: 'sync'; periodMs: number }

/** Whether the bucket of a location is to be looked at now. One that is not Available is left alone. */
export function nextSync({ location, now, serverPeriodMs }: SyncTimeFacts): SyncTimeStep {
  const { metadata, status } = location
  if (metadata.deletionTimestamp !== undefined || status?.phase !== 'Available') return { type: 'rest' }
  const periodMs = syncPeriodOf(location, serverPeriodMs)
  if (periodMs === 0) return { type: 'rest' }
  const last = timeOr0(status.lastSyncedTime)
  // A time that is still to come was written before the clock was put back.
  const afterMs = last > now ? 0 : last + periodMs - now
  return afterMs <= 0 ? { type: 'sync', periodMs } : { type: 'wait', afterMs }
}

/** The location's own period, else the server's; one that is negative or no duration does not count. */
export function syncPeriodOf({ spec }: BackupStorageLocation, serverPeriodMs: number): number {
  try {
    const own = durationMilliseconds(spec.backupSyncPeriod)
    return own === undefined || own < 0 ? serverPeriodMs : own
  } catch {
    return serverPeriodMs
  }
}

function timeOr0(text: string | null | undefined): number {
  try {
    return text ? parseTime(text) : 0
  } catch {
    return 0
  }
}

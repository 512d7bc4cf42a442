import { corrupt } from '../errors/repo-error.ts'
import { asJsonObject, type JsonValue } from '../go-json/go-json.ts'
import { goTimeToMillis, parseGoTime } from '../go-json/go-time.ts'

/** The intent of somebody to change the format of the repository; times and durations in milliseconds. */
export interface UpgradeLock {
  ownerId: string
  creationTime: number
  advanceNotice: number
  ioDrainTimeout: number
  message: string
  maxPermittedClockDrift: number
}

/** Reads the `upgradeLock` of a format block; undefined when there is none. Throws `CORRUPT`. */
export function parseUpgradeLock(value: JsonValue | undefined): UpgradeLock | undefined {
  if (value === undefined || value === null) return undefined
  const json = asJsonObject(value, 'upgradeLock')
  const created = json.creationTime
  return {
    ownerId: String(json.ownerID ?? ''),
    creationTime: typeof created === 'string' ? goTimeToMillis(parseGoTime(created)) : 0,
    advanceNotice: millis(json.advanceNoticeDuration),
    ioDrainTimeout: millis(json.ioDrainTimeout),
    message: String(json.message ?? ''),
    maxPermittedClockDrift: millis(json.maxPermittedClockDrift),
  }
}

/** True from the moment on when every client but the lock's owner must leave the storage alone. */
export function isLocked(lock: UpgradeLock, now: number): boolean {
  const drain = lock.maxPermittedClockDrift + 2 * lock.ioDrainTimeout
  if (lock.advanceNotice < drain) return true
  return now >= lock.creationTime + lock.advanceNotice - drain
}

function millis(value: JsonValue | undefined): number {
  if (value === undefined || value === null) return 0
  if (typeof value !== 'number' && typeof value !== 'bigint')
    throw corrupt('A duration of the upgrade lock is not a number')
  return Number(value) / 1e6
}

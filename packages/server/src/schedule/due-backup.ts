import { type Backup, backupOfSchedule, formatTime, lateenAnnotation, type Schedule } from '@lateen/api'
import type { TimeZone } from './zoned-time.ts'

/** On a backup of a schedule: the time for which it was made, so that none is made twice for it. */
export const dueAnnotation = lateenAnnotation('due')

/** On a backup of a schedule: the schedule's UID, because schedules of several clusters may share their name and a bucket. */
export const scheduleUidAnnotation = lateenAnnotation('schedule-uid')

export interface MakingScope {
  /** When it was due, and when it is made; milliseconds since 1970. */
  due: number
  now: number
  zone: TimeZone
}

/** The backup that a schedule makes, as Velero makes it. */
export function dueBackup(schedule: Schedule, { due, now, zone }: MakingScope): Backup {
  const name = `${schedule.metadata.name ?? ''}-${timestamp(zone, now)}`
  const { uid } = schedule.metadata
  const annotations = { [dueAnnotation]: formatTime(due), ...(uid && { [scheduleUidAnnotation]: uid }) }
  return backupOfSchedule(schedule, { name, annotations })
}

/** How much longer than a schedule's own the names of its backups are. */
export const timestampLength = '-20060102150405'.length

function timestamp(zone: TimeZone, now: number): string {
  const { year, month, day, hour, minute, second } = zone.wallAt(now)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${year}${[month, day, hour, minute, second].map(two).join('')}`
}

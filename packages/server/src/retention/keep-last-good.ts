import { type Backup, labelNames, lateenAnnotation, type Schedule, validLabelValue } from '@lateen/api'
import { scheduleUidAnnotation } from '../schedule/due-backup.ts'
import { isSynced } from '../sync/synced-annotation.ts'

/** On a Schedule, with the value `true`: its last Completed backup stays after it has expired. Schedules pass it on to their backups. */
export const keepLastGoodAnnotation = lateenAnnotation('keep-last-good')

export interface KeepFacts {
  backup: Backup
  /** Everything in the cluster. */
  backups: readonly Backup[]
  schedules: readonly Schedule[]
}

/**
 * The schedule for whose sake a backup stays, if there is one. Backups that this cluster made and those that it found in a bucket
 * count apart: another cluster's schedule may have the same name, and so may those of several others. A schedule that is gone protects nothing of its own cluster; what
 * others made says for itself whether it is protected.
 */
export function keptFor({ backup, backups, schedules }: KeepFacts): string | undefined {
  const label = backup.metadata.labels?.[labelNames.scheduleName]
  if (!label || backup.status?.phase !== 'Completed') return undefined
  const schedule = schedules.find(({ metadata }) => validLabelValue(metadata.name ?? '') === label)
  const isProtected = wantsIt(schedule) || (isSynced(backup) && wantsIt(backup))
  if (!isProtected) return undefined
  const alike = backups.filter(
    other =>
      other.metadata.labels?.[labelNames.scheduleName] === label &&
      other.status?.phase === 'Completed' &&
      isSynced(other) === isSynced(backup) &&
      (!isSynced(backup) || scheduleOf(other) === scheduleOf(backup)),
  )
  const isLast = alike.every(other => !isLater(other, backup))
  return isLast ? (schedule?.metadata.name ?? label) : undefined
}

/** Undefined for one that Velero made. */
function scheduleOf({ metadata }: Backup): string | undefined {
  return metadata.annotations?.[scheduleUidAnnotation]
}

function wantsIt(object: Schedule | Backup | undefined): boolean {
  return object?.metadata.annotations?.[keepLastGoodAnnotation] === 'true'
}

/** By when they began; of those that began together, one. */
function isLater(one: Backup, other: Backup): boolean {
  const [a, b] = [beganAt(one), beganAt(other)]
  return a === b ? (one.metadata.name ?? '') > (other.metadata.name ?? '') : a > b
}

// Times as the API server writes them: in UTC and all of one length, in order as text.
function beganAt({ status, metadata }: Backup): string {
  return status?.startTimestamp ?? metadata.creationTimestamp ?? ''
}

import { type Backup, labelNames, parseTime, validLabelValue } from '@lateen/api'
import { goTime } from '../output/go-time.ts'

/** What a restore is made from: one backup, or whatever the server finds for a schedule. */
export interface RestoreSource {
  readonly backupName?: string
  readonly scheduleName?: string
}

/** Selects the backups of a schedule; a name that is too long for a label stands in it shortened. */
export function scheduleSelector(schedule: string): string {
  return `${labelNames.scheduleName}=${validLabelValue(schedule)}`
}

/** The backup that started last among those in one of these phases. */
export function newestBackup(backups: readonly Backup[], phases: readonly string[]): Backup | undefined {
  return backups
    .filter(({ status }) => phases.includes(status?.phase ?? ''))
    .toSorted((a, b) => startOf(b) - startOf(a))
    .at(0)
}

function startOf({ status }: Backup): number {
  return status?.startTimestamp ? parseTime(status.startTimestamp) : Number.NEGATIVE_INFINITY
}

/** The name of a restore that was given none: that of its source and the second, in the local time zone. */
export function defaultRestoreName(source: string, now: number, timeZone?: string): string {
  const time = goTime(new Date(now).toISOString(), timeZone)
  return `${source}-${time.replace(/\D/g, '').slice(0, 14)}`
}

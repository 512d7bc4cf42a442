import { type Backup, backupOfSchedule, type Schedule } from '@lateen/api'
import type { NewBackup } from './new-backup.ts'

/** A backup from a schedule's template; labels and annotations of the flags win. */
export function backupFromSchedule(schedule: Schedule, { name, namespace, flags }: NewBackup): Backup {
  const backup = backupOfSchedule(schedule, { name, labels: flags.labels, annotations: flags.annotations })
  const { resourcePolicy } = backup.spec
  return {
    ...backup,
    metadata: { ...backup.metadata, namespace },
    spec: {
      ...backup.spec,
      ...(resourcePolicy ? { resourcePolicy: { kind: 'configmap', name: resourcePolicy.name } } : {}),
    },
  }
}

/** The name of a backup that a schedule makes at a time: the schedule's and the time in UTC. */
export function timestampedName(schedule: string, now: number): string {
  return `${schedule}-${new Date(now).toISOString().replace(/\D/g, '').slice(0, 14)}`
}

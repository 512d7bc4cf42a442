import { apiVersionOf, type Backup, BackupKind, labelNames, type Schedule, ScheduleKind } from '@lateen/api'
import type { NewBackup } from './new-backup.ts'

/**
 * A backup from a schedule's template, with the labels of the template, else of the schedule, and the annotations of the
 * schedule; labels and annotations of the flags win.
 */
export function backupFromSchedule(schedule: Schedule, { name, namespace, flags }: NewBackup): Backup {
  const { metadata, spec } = schedule
  const labels = {
    ...(spec.template.metadata?.labels ?? metadata.labels),
    [labelNames.scheduleName]: metadata.name ?? '',
    ...flags.labels,
  }
  const annotations = { ...metadata.annotations, ...flags.annotations }
  const { resourcePolicy } = spec.template
  return {
    apiVersion: apiVersionOf(BackupKind),
    kind: BackupKind.kind,
    metadata: {
      name,
      namespace,
      labels,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(spec.useOwnerReferencesInBackup ? { ownerReferences: [ownerOf(schedule)] } : {}),
    },
    spec: {
      ...spec.template,
      ...(resourcePolicy ? { resourcePolicy: { kind: 'configmap', name: resourcePolicy.name } } : {}),
    },
  }
}

function ownerOf({ metadata }: Schedule) {
  return {
    apiVersion: apiVersionOf(ScheduleKind),
    kind: ScheduleKind.kind,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    controller: true,
  }
}

/** The name of a backup that a schedule makes at a time: the schedule's and the time in UTC. */
export function timestampedName(schedule: string, now: number): string {
  return `${schedule}-${new Date(now).toISOString().replace(/\D/g, '').slice(0, 14)}`
}

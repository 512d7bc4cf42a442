import { apiVersionOf } from './kind.ts'
import { labelNames } from './labels.ts'
import { validLabelValue } from './names.ts'
import type { OwnerReference } from './object-meta.ts'
import { type Backup, BackupKind } from './v1/backup.ts'
import { type Schedule, ScheduleKind } from './v1/schedule.ts'

/** What the backup of a schedule has of its own. */
export interface OwnOfBackup {
  readonly name: string
  /** These win over the schedule's. */
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/**
 * A backup from a schedule's template, in its namespace, with the labels of the template, else of the schedule, and the annotations
 * of the schedule, which owns it if it wants to.
 */
export function backupOfSchedule(schedule: Schedule, own: OwnOfBackup): Backup {
  const { metadata, spec } = schedule
  const annotations = { ...metadata.annotations, ...own.annotations }
  return {
    apiVersion: apiVersionOf(BackupKind),
    kind: BackupKind.kind,
    metadata: {
      name: own.name,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: {
        ...(spec.template.metadata?.labels ?? metadata.labels),
        [labelNames.scheduleName]: validLabelValue(metadata.name ?? ''),
        ...own.labels,
      },
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(spec.useOwnerReferencesInBackup === true && { ownerReferences: [ownerOf(schedule)] }),
    },
    spec: spec.template,
  }
}

function ownerOf({ metadata }: Schedule): OwnerReference {
  return {
    apiVersion: apiVersionOf(ScheduleKind),
    kind: ScheduleKind.kind,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    controller: true,
  }
}

import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { schedulePhaseMachine, schedulePhases } from '../phases.ts'
import {
  boolean,
  described,
  enumeration,
  nullable,
  object,
  required,
  string,
  strings,
  time,
} from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'
import { backupSpec } from './backup.ts'

const scheduleSpec = object('What to back up, and when.', {
  template: required(described('The spec of the backups to make.', backupSpec)),
  schedule: required(string('When to back up, as a cron expression.')),
  paused: boolean('Whether no backups are made for now.'),
  skipImmediately: boolean('Whether a backup that is due at once is left out.'),
  useOwnerReferencesInBackup: nullable(boolean('Whether backups are deleted along with the schedule.')),
})

/** What to back up, and when. */
export interface ScheduleSpec extends Infer<typeof scheduleSpec> {}

const scheduleStatus = object('Where the schedule stands.', {
  phase: enumeration('Whether the schedule is in use.', schedulePhases),
  lastBackup: time('When a backup was last made.'),
  lastSkipped: time('When a backup was last left out.'),
  validationErrors: strings('Why the spec is not valid.'),
})

/** Where a schedule stands. */
export interface ScheduleStatus extends Infer<typeof scheduleStatus> {}

/** Backups made again and again. */
export interface Schedule extends CustomObject<ScheduleSpec, ScheduleStatus> {}

/** The kind Schedule. */
export const ScheduleKind: KindDescription<Schedule> = describeKind({
  kind: 'Schedule',
  plural: 'schedules',
  description: 'Backups made again and again.',
  schema: { spec: scheduleSpec, status: scheduleStatus },
  phases: schedulePhaseMachine,
  printerColumns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase', description: 'Whether it is in use' },
    { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule', description: 'The cron expression' },
    {
      name: 'LastBackup',
      type: 'date',
      jsonPath: '.status.lastBackup',
      description: 'When a backup was last made',
    },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Paused', type: 'boolean', jsonPath: '.spec.paused' },
  ],
})

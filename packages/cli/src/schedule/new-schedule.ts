import { apiVersionOf, type Schedule, ScheduleKind } from '@lateen/api'
import { backupSpecOf } from '../backup/new-backup.ts'
import { CliError } from '../cli-error.ts'
import { skipImmediatelyOf } from '../commands/skip-flag.ts'
import type { FlagValues } from '../tree/flag.ts'
import type { scheduleCreateFlags } from '../tree/schedule.ts'

export type ScheduleCreateFlags = FlagValues<typeof scheduleCreateFlags>

/** A schedule to be made from flags. */
export interface NewSchedule {
  readonly name: string
  readonly namespace: string
  readonly flags: ScheduleCreateFlags
}

/** Builds the object that Velero's command line would send. Throws a CliError for texts that cannot be read. */
export function newSchedule({ name, namespace, flags }: NewSchedule): Schedule {
  const { labels, annotations, schedule } = flags
  if (!schedule) {
    throw new CliError('USAGE', '--schedule is required', {
      hint: 'give it five fields of cron such as "0 3 * * *", a word such as @daily, or "@every 6h"',
    })
  }
  const skipImmediately = skipImmediatelyOf(flags['skip-immediately'])
  return {
    apiVersion: apiVersionOf(ScheduleKind),
    kind: ScheduleKind.kind,
    metadata: {
      name,
      namespace,
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: {
      template: backupSpecOf(flags),
      schedule,
      useOwnerReferencesInBackup: flags['use-owner-references-in-backup'],
      ...(flags.paused && { paused: true }),
      ...(skipImmediately !== undefined && { skipImmediately }),
    },
  }
}

import type { Restore } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import { backupClient } from '../commands/backup-client.ts'
import type { Place } from '../commands/object-client.ts'
import { restoreClient } from '../commands/restore-client.ts'
import { checkRestoreFlags, newRestore } from '../restore/new-restore.ts'
import {
  defaultRestoreName,
  newestBackup,
  type RestoreSource,
  scheduleSelector,
} from '../restore/restore-source.ts'
import type { CommandCall } from '../tree/command.ts'
import { type restorePlanFlags, restoreSpecFlags } from '../tree/restore.ts'

type Call = CommandCall<typeof restorePlanFlags>

/** The restore that a plan is for: one that exists, or one made from flags. Throws CliErrors. */
export async function plannedRestore(call: Call, place: Place): Promise<Restore> {
  const { flags, args, surroundings } = call
  const [name] = args
  const from = flags['from-schedule'] || flags['from-backup']
  if (!from && flags.local === undefined && name !== undefined) return existingRestore(name, call, place)
  checkRestoreFlags(flags)
  const source = await sourceOf(call, place)
  const { namespace } = place
  return newRestore({
    name: name ?? defaultRestoreName(from ?? '', surroundings.clock.now()),
    namespace,
    source,
    flags,
  })
}

/** Its spec as it was sent: the server adds the schedule of a backup that was named. */
async function existingRestore(name: string, { given }: Call, place: Place): Promise<Restore> {
  const flag = [...given].find(each => Object.hasOwn(restoreSpecFlags, each))
  if (flag !== undefined) {
    throw new CliError('USAGE', `--${flag} has no effect on the plan of an existing restore`, {
      hint: 'add --from-backup or --from-schedule to plan another one',
    })
  }
  const { apiVersion, kind, metadata, spec } = await restoreClient(place).get(name)
  const { scheduleName, ...rest } = spec
  return {
    apiVersion,
    kind,
    metadata,
    spec: spec.backupName ? rest : { ...rest, ...(scheduleName && { scheduleName }) },
  }
}

/** Which backup of a schedule is left to the preparation of the restore, unless partial ones will do. */
async function sourceOf({ flags }: Call, place: Place): Promise<RestoreSource> {
  const scheduleName = flags['from-schedule']
  if (flags.local !== undefined) {
    return scheduleName ? { scheduleName } : { backupName: flags['from-backup'] ?? '' }
  }
  const backups = backupClient(place)
  if (!scheduleName)
    return { backupName: (await backups.get(flags['from-backup'] ?? '')).metadata.name ?? '' }
  if (!flags['allow-partially-failed']) return { scheduleName }
  const made = await backups.list(scheduleSelector(scheduleName))
  const newest = newestBackup(made, ['Completed', 'PartiallyFailed'])
  return newest === undefined ? { scheduleName } : { backupName: newest.metadata.name ?? '' }
}

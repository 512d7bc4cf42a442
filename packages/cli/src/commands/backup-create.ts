import { type Backup, BackupKind } from '@lateen/api'
import { backupFromSchedule, timestampedName } from '../backup/backup-from-schedule.ts'
import { localBackup } from '../backup/local-backup.ts'
import { checkBackupFlags, newBackup } from '../backup/new-backup.ts'
import { watchBackup } from '../backup/watch-backup.ts'
import { CliError } from '../cli-error.ts'
import { backupColumns } from '../output/backup-columns.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { Progress } from '../output/progress.ts'
import type { backupCreateFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { backupClient } from './backup-client.ts'
import { checkLocations } from './check-locations.ts'
import { objectsResult } from './objects-result.ts'
import { scheduleClient } from './schedule-client.ts'

type Call = CommandCall<typeof backupCreateFlags>

/** `backup create NAME`: sends the backup to the cluster, with `-o` shows it instead, with `--local` takes it from here. */
export async function run(call: Call): Promise<CommandResult> {
  checkFlags(call)
  await checkLocations(call)
  const backup = await buildBackup(call)
  if (call.flags.output !== undefined) return show(backup, call)
  if (call.flags.local !== undefined) return localBackup(backup, call)
  const end: { phase?: string | undefined } = {}
  return {
    show: 'lines',
    lines: submit(backup, call, end),
    exitCode: () => (call.flags.wait && end.phase !== 'Completed' ? 1 : 0),
  }
}

function checkFlags({ args, flags }: Call): void {
  const schedule = flags['from-schedule']
  if (schedule !== undefined && schedule.trim() === '') {
    throw new CliError('USAGE', 'flag must have a non-empty value: --from-schedule')
  }
  if (schedule === undefined && !args[0]) {
    throw new CliError('USAGE', 'a backup name is required, unless you are creating based on a schedule')
  }
  if (flags.local === '') throw new CliError('USAGE', '--local needs a folder')
  if (flags.local !== undefined && flags['storage-location']) {
    throw new CliError('USAGE', '--local and --storage-location cannot be used together')
  }
  checkBackupFlags(flags)
}

async function buildBackup(call: Call): Promise<Backup> {
  const { flags, surroundings } = call
  const { signal, clock } = surroundings
  const { namespace } = await call.settings()
  const from = flags['from-schedule']?.trim()
  if (from === undefined) return newBackup({ name: call.args[0] ?? '', namespace, flags })
  await using client = await call.connect()
  const schedule = await scheduleClient({ client, namespace, signal }).get(from)
  const name = call.args[0] || timestampedName(from, clock.now())
  return backupFromSchedule(schedule, { name, namespace, flags })
}

async function* submit(
  backup: Backup,
  call: Call,
  end: { phase?: string | undefined },
): AsyncGenerator<string | Progress> {
  const { clock, signal } = call.surroundings
  const { namespace } = await call.settings()
  const { name } = backup.metadata
  if (call.flags['from-schedule']) yield 'Creating backup from schedule, all other filters are ignored.'
  await using client = await call.connect()
  const backups = backupClient({ client, namespace, signal })
  const created = await backups.create(backup)
  yield `Backup request "${name}" submitted successfully.`
  const look = `\`lateen backup describe ${name}\``
  const logs = `\`lateen backup logs ${name}\``
  if (!call.flags.wait) {
    yield `Run ${look} or ${logs} for more details.`
    return
  }
  yield 'Waiting for the backup to end. Ctrl-C stops the waiting only: the backup goes on.'
  try {
    const { status } = yield* watchBackup(created, backups.resource, { clock, signal })
    end.phase = status?.phase
  } catch (error) {
    if (signal.aborted) yield `Stopped waiting. The backup goes on: run ${look} to see how far it is.`
    signal.throwIfAborted()
    throw error
  }
  yield `Backup completed with status: ${end.phase}. Run ${look} or ${logs} for more details.`
}

function show(backup: Backup, { flags, surroundings }: Call): CommandResult {
  return objectsResult(BackupKind, {
    objects: [backup],
    columns: backupColumns(surroundings.clock.now()),
    flags,
  })
}

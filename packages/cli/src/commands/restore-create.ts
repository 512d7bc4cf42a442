import { type Restore, RestoreKind } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { Progress } from '../output/progress.ts'
import { restoreColumns } from '../output/restore-columns.ts'
import { localRestore } from '../restore/local-restore.ts'
import { checkRestoreFlags, newRestore } from '../restore/new-restore.ts'
import {
  defaultRestoreName,
  newestBackup,
  type RestoreSource,
  scheduleSelector,
} from '../restore/restore-source.ts'
import { watchRestore } from '../restore/watch-restore.ts'
import type { CommandCall } from '../tree/command.ts'
import type { restoreCreateFlags } from '../tree/restore.ts'
import { backupClient } from './backup-client.ts'
import { objectsResult } from './objects-result.ts'
import { restoreClient } from './restore-client.ts'

type Call = CommandCall<typeof restoreCreateFlags>

/** `restore create [NAME]`: sends the restore to the cluster, with `-o` shows it instead, with `--local` restores from here. */
export async function run(call: Call): Promise<CommandResult> {
  checkRestoreFlags(call.flags)
  const restore = await buildRestore(call)
  if (call.flags.output !== undefined) return show(restore, call)
  if (call.flags.local !== undefined) return localRestore(restore, call)
  const end: { phase?: string | undefined } = {}
  return {
    show: 'lines',
    lines: submit(restore, call, end),
    exitCode: () => (call.flags.wait && end.phase !== 'Completed' ? 1 : 0),
  }
}

async function buildRestore(call: Call): Promise<Restore> {
  const { flags, args, surroundings } = call
  const { namespace } = await call.settings()
  const source = flags.local === undefined ? await findSource(call, namespace) : givenSource(call)
  const from = flags['from-schedule'] || flags['from-backup'] || ''
  const name = args[0] ?? defaultRestoreName(from, surroundings.clock.now())
  return newRestore({ name, namespace, source, flags })
}

function givenSource({ flags }: Call): RestoreSource {
  const scheduleName = flags['from-schedule']
  return scheduleName ? { scheduleName } : { backupName: flags['from-backup'] ?? '' }
}

/** What is restored from must exist. Which backup of a schedule is left to the server, unless partial ones will do. */
async function findSource(call: Call, namespace: string): Promise<RestoreSource> {
  const { flags, surroundings } = call
  await using client = await call.connect()
  const backups = backupClient({ client, namespace, signal: surroundings.signal })
  const scheduleName = flags['from-schedule']
  if (!scheduleName) {
    const { metadata } = await backups.get(flags['from-backup'] ?? '')
    return { backupName: metadata.name ?? '' }
  }
  const found = await backups.list(scheduleSelector(scheduleName))
  if (found.length === 0) {
    throw new CliError('NOT_FOUND', `No backups found for the schedule ${scheduleName}`, {
      hint: `'lateen backup create --from-schedule ${scheduleName}' makes one`,
    })
  }
  const newest = flags['allow-partially-failed']
    ? newestBackup(found, ['Completed', 'PartiallyFailed'])
    : undefined
  return newest === undefined ? { scheduleName } : { backupName: newest.metadata.name ?? '' }
}

async function* submit(
  restore: Restore,
  call: Call,
  end: { phase?: string | undefined },
): AsyncGenerator<string | Progress> {
  const { clock, signal } = call.surroundings
  const { namespace } = await call.settings()
  const { name } = restore.metadata
  await using client = await call.connect()
  const restores = restoreClient({ client, namespace, signal })
  const created = await restores.create(restore)
  yield `Restore request "${name}" submitted successfully.`
  const look = `\`lateen restore describe ${name}\``
  const logs = `\`lateen restore logs ${name}\``
  if (!call.flags.wait) {
    yield `Run ${look} or ${logs} for more details.`
    return
  }
  yield 'Waiting for the restore to end. Ctrl-C stops the waiting only: the restore goes on.'
  try {
    const { status } = yield* watchRestore(created, restores.resource, { clock, signal })
    end.phase = status?.phase
  } catch (error) {
    if (signal.aborted) yield `Stopped waiting. The restore goes on: run ${look} to see how far it is.`
    signal.throwIfAborted()
    throw error
  }
  yield `Restore completed with status: ${end.phase}. Run ${look} or ${logs} for more details.`
}

function show(restore: Restore, { flags }: Call): CommandResult {
  return objectsResult(RestoreKind, {
    objects: [restore],
    columns: restoreColumns,
    flags,
  })
}

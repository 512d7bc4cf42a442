import {
  apiVersionOf,
  type Backup,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  generateNameFor,
  labelNames,
  validLabelValue,
} from '@lateen/api'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { backupDeleteFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { type BackupClient, backupClient } from './backup-client.ts'
import { confirm } from './confirm.ts'
import { followObject } from './follow-object.ts'
import type { Place } from './object-client.ts'
import { throwFailures } from './throw-failures.ts'

type Call = CommandCall<typeof backupDeleteFlags>

/** How long the server has to take up a request before it is said that nobody has. */
const PATIENCE_MS = 3_000

/** `backup delete`: asks first, requests the deletion of each backup, and reports all failures at the end. */
export function run(call: Call): CommandResult {
  const ways = [call.args.length > 0, call.flags.all, call.flags.selector !== undefined]
  if (ways.filter(Boolean).length !== 1) {
    throw new CliError(
      'USAGE',
      'you must specify exactly one of: specific backup name(s), the --all flag, or the --selector flag',
    )
  }
  return { show: 'lines', lines: deleteBackups(call) }
}

async function* deleteBackups(call: Call): AsyncGenerator<string> {
  const { namespace } = await call.settings()
  if (!call.flags.confirm && !(await confirm(call.surroundings))) return
  await using client = await call.connect()
  const place = { client, namespace, signal: call.surroundings.signal }
  const failures: unknown[] = []
  const found = await find(backupClient(place), call, failures)
  if (found.length === 0 && failures.length === 0) yield 'No backups found'
  let requested: DeleteBackupRequest | undefined
  for (const backup of found) {
    try {
      requested = await requestDeletion(backup, place)
      yield `Request to delete backup "${backup.metadata.name}" submitted successfully.`
      yield 'It is gone when all that belongs to it is removed: files in the bucket, snapshots, restores.'
    } catch (error) {
      failures.push(error)
    }
  }
  if (requested !== undefined && !(await isTakenUp(requested, call, place))) {
    yield `No server in namespace ${namespace} has taken the request up yet: the backup stays until one that deletes backups runs there.`
  }
  throwFailures(failures, 'deletions')
}

async function find(backups: BackupClient, call: Call, failures: unknown[]): Promise<Backup[]> {
  if (call.args.length === 0) return backups.list(call.flags.selector)
  const found: Backup[] = []
  for (const name of call.args) {
    await backups.get(name).then(
      backup => found.push(backup),
      error => failures.push(error),
    )
  }
  return found
}

async function requestDeletion({ metadata }: Backup, place: Place): Promise<DeleteBackupRequest> {
  const { client, namespace, signal } = place
  const name = metadata.name ?? ''
  const request: DeleteBackupRequest = {
    apiVersion: apiVersionOf(DeleteBackupRequestKind),
    kind: DeleteBackupRequestKind.kind,
    metadata: {
      generateName: generateNameFor(name),
      namespace,
      labels: {
        [labelNames.backupName]: validLabelValue(name),
        [labelNames.backupUid]: metadata.uid ?? '',
      },
    },
    spec: { backupName: name },
  }
  return client.resource(DeleteBackupRequestKind, namespace).create(request, { signal })
}

/** Whether a server has begun, or even finished, within a moment. */
async function isTakenUp(request: DeleteBackupRequest, call: Call, place: Place): Promise<boolean> {
  const { clock } = call.surroundings
  const signal = AbortSignal.any([place.signal, AbortSignal.timeout(PATIENCE_MS)])
  const requests = place.client.resource(DeleteBackupRequestKind, place.namespace)
  try {
    for await (const seen of followObject(requests, request, { clock, signal })) {
      if (seen === undefined || (seen.status?.phase && seen.status.phase !== 'New')) return true
    }
  } catch {
    place.signal.throwIfAborted()
    // Whoever may not look cannot be told.
    return !signal.aborted
  }
  return false
}

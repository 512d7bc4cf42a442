import {
  apiVersionOf,
  type Backup,
  BackupKind,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  generateNameFor,
  labelNames,
  validLabelValue,
} from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { CommandResult } from '../output/command-result.ts'
import type { backupDeleteFlags } from '../tree/backup.ts'
import type { CommandCall } from '../tree/command.ts'
import { backupClient } from './backup-client.ts'
import { confirm } from './confirm.ts'
import { followObject } from './follow-object.ts'
import type { Place } from './object-client.ts'
import { requireOneWay, selectObjects } from './select-objects.ts'
import { throwFailures } from './throw-failures.ts'

type Call = CommandCall<typeof backupDeleteFlags>

/** How long the server has to take up a request before it is said that nobody has. */
const PATIENCE_MS = 3_000

/** `backup delete`: asks first, requests the deletion of each backup, and reports all failures at the end. */
export function run(call: Call): CommandResult {
  requireOneWay(call, 'backup')
  return { show: 'lines', lines: deleteBackups(call) }
}

async function* deleteBackups(call: Call): AsyncGenerator<string> {
  const { namespace } = await call.settings()
  if (!call.flags.confirm && !(await confirm(call.surroundings))) return
  await using client = await call.connect()
  const place = { client, namespace, signal: call.surroundings.signal }
  const failures: unknown[] = []
  const found = await selectObjects(backupClient(place), call, { failures })
  if (found.length === 0 && failures.length === 0) yield 'No backups found'
  const requested: DeleteBackupRequest[] = []
  for (const backup of found) {
    try {
      requested.push(await requestDeletion(backup, place))
      yield `Request to delete backup "${backup.metadata.name}" submitted successfully.`
      yield 'It is gone when all that belongs to it is removed: files in the bucket, snapshots, restores.'
    } catch (error) {
      failures.push(error)
    }
  }
  const last = requested.at(-1)
  if (last !== undefined && !(await isTakenUp(last, call, place))) {
    yield `No server in namespace ${namespace} has taken the request up yet: the backup stays until one that deletes backups runs there.`
  }
  for (const request of call.flags.wait ? requested : []) yield* awaitEnd(request, failures, { call, place })
  throwFailures(failures, 'deletions')
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

/** Follows a request until it is gone, which is when its backup is, or until no server tries any longer. */
async function* awaitEnd(
  request: DeleteBackupRequest,
  failures: unknown[],
  { call, place }: { call: Call; place: Place },
): AsyncGenerator<string> {
  const { clock, signal } = call.surroundings
  const name = request.spec.backupName
  const requests = place.client.resource(DeleteBackupRequestKind, place.namespace)
  let told = ''
  try {
    for await (const seen of followObject(requests, request, { clock, signal })) {
      const errors = (seen?.status?.errors ?? []).join('; ')
      if (seen?.status?.phase === 'Processed' && errors !== '') {
        failures.push(new CliError('REFUSED', `backup "${name}" was not deleted: ${errors}`))
        return
      }
      if (errors !== '' && errors !== told) yield `Backup "${name}" could not be deleted yet: ${errors}`
      told = errors
    }
    yield (await isThere(request, place))
      ? `Another request to delete backup "${name}" has taken the place of this one.`
      : `Backup "${name}" is deleted.`
  } catch (error) {
    if (signal.aborted) yield `Stopped waiting. The request to delete backup "${name}" stands.`
    signal.throwIfAborted()
    throw error
  }
}

async function isThere({ metadata, spec }: DeleteBackupRequest, place: Place): Promise<boolean> {
  const { client, namespace, signal } = place
  const backup = await client
    .resource(BackupKind, namespace)
    .get(spec.backupName, { signal })
    .catch(unlessNotFound)
  return backup !== undefined && backup.metadata.uid === metadata.labels?.[labelNames.backupUid]
}

import {
  type Backup,
  BackupKind,
  type BackupStorageLocation,
  BackupStorageLocationKind,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  type DeleteBackupRequestStatus,
  labelNames,
  type Restore,
  RestoreKind,
  validLabelValue,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  isConflict,
  joinKey,
  type KubeClient,
  type Outcome,
  type ReconcileContext,
  splitKey,
  unlessNotFound,
  watching,
} from '@lateen/kube'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { anotherOfTheName } from '../deletion/another-backup.ts'
import {
  createdAt,
  type DeletionDecision,
  decideDeletion,
  hasBegun,
  type ObservedDeletion,
} from '../deletion/decide-deletion.ts'
import type { DeletionScope, DeletionStep } from '../deletion/deletion-step.ts'
import { deletionSteps, stepsOfReplaced } from '../deletion/deletion-steps.ts'
import { nextAttemptAfter } from '../deletion/next-attempt.ts'
import { runDeletion } from '../deletion/run-deletion.ts'
import type { PluginSessions } from '../plugin-host/plugin-session.ts'
import type { BusyKeys } from './busy-keys.ts'
import { LatestObjects } from './latest-objects.ts'
import { patchInPhase } from './patch-in-phase.ts'
import { patchObject } from './patch-object.ts'
import { recordEvent } from './record-event.ts'

export interface BackupDeletionOptions {
  client: KubeClient
  informer: Informer<DeleteBackupRequest>
  /** The ones that those who work on backups look at, so that they see at once what is written here. */
  backups: LatestObjects<Backup>
  /** Backups that others work on. */
  busy: Pick<BusyKeys, 'has'>
  clock: Clock
  random: () => number
  ports: LocationPorts
  plugins: PluginSessions
  openSnapshotters: DeletionScope['openSnapshotters']
  forgetSnapshots?: DeletionScope['forgetSnapshots']
  /** How long one CSI snapshot may take to be deleted, where the backup does not say. Default: 10 minutes. */
  resourceTimeoutMs?: number
  /** A folder that exists. */
  scratch: string
  steps?: readonly DeletionStep[]
}

/** Backups that are deleted at the same time. */
const CONCURRENCY = 4

/** As long as Velero waits. */
const RESOURCE_TIMEOUT_MS = 600_000

/** Within this time it is usually seen that a request is gone. */
const SEEN_MS = 200

/** What this server remembers of the deletion of one backup. */
interface Memory {
  seenSince: number
  attempts: number
  notBefore: number
  /** Steps that need no second time, of the backup with this identity. */
  done: Set<string>
  uid?: string | undefined
  /** What was last said in the log about why it waits. */
  said?: string | undefined
}

/**
 * Deletes backups and all that belongs to them, on request. All requests for one backup are looked at together. A deletion that a server
 * left behind is taken up by the next one, and one that fails is tried again.
 */
export function backupDeletionController(options: BackupDeletionOptions): ControllerOptions {
  const { informer, clock } = options
  const requests = new LatestObjects(informer)
  const memories = new Map<string, Memory>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const about = requests.list().filter(request => keyOfBackup(request) === key)
    if (about.every(({ status }) => status?.phase === 'Processed')) memories.delete(key)
    const memory = memories.get(key) ?? remembered(clock.now())
    if (about.length > 0) memories.set(key, memory)
    const scope = { ...options, ...context, requests, memory, key }
    const decision = decideDeletion(await observe(about, scope))
    return act(decision, scope)
  }

  return {
    name: 'backup-deletion',
    sources: [watching({ informer, toKeys: request => [keyOfBackup(request)] })],
    reconcile,
    concurrency: CONCURRENCY,
  }
}

type Scope = BackupDeletionOptions &
  ReconcileContext & { requests: LatestObjects<DeleteBackupRequest>; memory: Memory; key: string }

function remembered(now: number): Memory {
  return { seenSince: now, attempts: 0, notBefore: 0, done: new Set() }
}

function keyOfBackup({ metadata, spec }: DeleteBackupRequest): string {
  return joinKey({ namespace: metadata.namespace ?? '', name: spec.backupName })
}

async function observe(requests: readonly DeleteBackupRequest[], scope: Scope): Promise<ObservedDeletion> {
  const { client, clock, memory, busy, key, signal } = scope
  const { namespace, name: backupName } = splitKey(key)
  const isPending = requests.some(({ status }) => status?.phase !== 'Processed')
  const backup =
    isPending && backupName !== ''
      ? await client.resource(BackupKind, namespace).get(backupName, { signal }).catch(unlessNotFound)
      : undefined
  const isDeleting = backup?.status?.phase === 'Deleting'
  return {
    requests,
    backupName,
    backup,
    location: backup && (await locationOf(backup, scope)),
    restores: isDeleting ? await restoresOf(backup, scope) : [],
    isBusy: busy.has(key),
    seenSince: memory.seenSince,
    notBefore: memory.notBefore,
    now: clock.now(),
  }
}

async function locationOf(
  { metadata, spec }: Backup,
  { client, signal }: Scope,
): Promise<BackupStorageLocation | undefined> {
  if (!spec.storageLocation) return undefined
  return client
    .resource(BackupStorageLocationKind, metadata.namespace)
    .get(spec.storageLocation, { signal })
    .catch(unlessNotFound)
}

async function restoresOf({ metadata }: Backup, { client, signal }: Scope): Promise<Restore[]> {
  const found: Restore[] = []
  for await (const restore of client.resource(RestoreKind, metadata.namespace).list({ signal })) {
    if (restore.spec.backupName === metadata.name) found.push(restore)
  }
  return found
}

async function act(decision: DeletionDecision, scope: Scope): Promise<Outcome> {
  switch (decision.type) {
    case 'ignore':
      return done()
    case 'wait':
      sayOnce(decision.for, scope)
      return again({ afterMs: decision.afterMs })
    case 'remove-requests':
      for (const request of decision.requests) await removeRequest(request, scope)
      return again({ afterMs: SEEN_MS })
    case 'refuse': {
      const { request, reason } = decision
      await endRequest(request, [`backup deletion failed: ${reason}`], scope)
      return again({ afterMs: 0 })
    }
    case 'take':
      await take(decision.request, decision.backup, scope)
      return again({ afterMs: 0 })
    case 'mark':
      await mark(decision.backup, scope)
      return again({ afterMs: 0 })
    case 'retry':
      return retryLater(decision.request, [decision.reason], scope)
    case 'delete':
      return attempt(decision.request, decision.backup, scope)
  }
}

function sayOnce(what: string | undefined, { memory, log, key }: Scope): void {
  if (what !== undefined && what !== memory.said) {
    log.info({ backup: key, waitsFor: what }, 'the deletion of a backup waits')
  }
  memory.said = what
}

/** Whoever asks again is answered by an attempt, and not after the wait that an earlier request has come to. */
async function take(request: DeleteBackupRequest, backup: Backup, scope: Scope): Promise<void> {
  const { memory } = scope
  memory.attempts = 0
  memory.notBefore = 0
  const { name = '', uid = '' } = backup.metadata
  const labels = { [labelNames.backupName]: validLabelValue(name), [labelNames.backupUid]: uid }
  await patchRequest(request, { metadata: { labels }, status: { phase: 'InProgress' } }, scope)
  scope.log.info({ backup: name, request: request.metadata.name }, 'a backup is being deleted')
}

/** With its version: whoever moves the backup at the same moment wins, and it is looked at again. */
async function mark(backup: Backup, scope: Scope): Promise<void> {
  const { client, backups, signal } = scope
  const { resourceVersion, annotations } = backup.metadata
  const body = { metadata: { resourceVersion, annotations }, status: { phase: 'Deleting' } }
  const patch = { type: 'merge', body } as const
  try {
    await patchObject(backup, { kind: BackupKind, patch }, { client, latest: backups, signal })
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}

async function attempt(request: DeleteBackupRequest, backup: Backup, scope: Scope): Promise<Outcome> {
  const { memory, log, signal } = scope
  const { name, uid } = backup.metadata
  if (memory.uid !== uid) memory.done.clear()
  memory.uid = uid
  const errors = await deleteOnce(backup, scope).catch((error: unknown) => {
    signal.throwIfAborted()
    return [error instanceof Error ? error.message : String(error)]
  })
  if (errors.length > 0) return retryLater(request, errors, scope)
  log.info({ backup: name, attempts: memory.attempts + 1 }, 'a backup was deleted')
  await removeAllRequests(backup, scope)
  return again({ afterMs: SEEN_MS })
}

async function deleteOnce(backup: Backup, scope: Scope): Promise<string[]> {
  const { client, clock, log, signal, memory, scratch, openSnapshotters, forgetSnapshots } = scope
  const { resourceTimeoutMs = RESOURCE_TIMEOUT_MS } = scope
  await using place = await openPlace(backup, scope)
  await using plugins = scope.plugins.open({ log, signal })
  const warn: DeletionScope['warn'] = (reason, message) =>
    recordEvent({ about: backup, type: 'Warning', reason, message }, { client, clock, log, signal })
  const { store } = place
  const another = store && (await anotherOfTheName(backup, store, signal))
  if (another !== undefined) await tellOfAnother(backup, another, { log, warn })
  return await runDeletion(
    another === undefined ? (scope.steps ?? deletionSteps) : stepsOfReplaced,
    {
      ...{ backup, store, plugins, openSnapshotters, forgetSnapshots, resourceTimeoutMs },
      ...{ client, clock, log, scratch, signal, warn },
    },
    memory.done,
  )
}

async function tellOfAnother(
  { metadata }: Backup,
  another: string,
  { log, warn }: Pick<DeletionScope, 'log' | 'warn'>,
): Promise<void> {
  const { name } = metadata
  log.warn({ backup: name, another }, 'a deleted backup is not in the bucket any more: only its object goes')
  const message = `In the bucket, backups/${name}/ is ${another}. It stays, with its snapshots and volume data: only the object of the earlier one is deleted here`
  await warn('BackupReplaced', message)
}

/** Without a store for a backup that has nothing in one. */
async function openPlace(
  backup: Backup,
  scope: Scope,
): Promise<{ store: BackupStore | undefined } & AsyncDisposable> {
  const { clock, random, ports, signal } = scope
  const location = hasBegun(backup) ? await locationOf(backup, scope) : undefined
  if (location === undefined) return { store: undefined, [Symbol.asyncDispose]: async () => undefined }
  const opened = await openLocation(location, ports, signal)
  const store = createBackupStore({ location: opened, clock, random })
  return { store, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
}

/** Says what is wrong where users look, and tries again, as long as patience lasts. */
async function retryLater(
  request: DeleteBackupRequest,
  errors: readonly string[],
  scope: Scope,
): Promise<Outcome> {
  const { clock, memory, log, random, key } = scope
  memory.attempts += 1
  const waitMs = nextAttemptAfter({
    count: memory.attempts,
    requestedAt: createdAt(request),
    now: clock.now(),
    random: random(),
  })
  if (waitMs === undefined) {
    await endRequest(request, errors, scope)
    return again({ afterMs: 0 })
  }
  memory.notBefore = clock.now() + waitMs
  log.warn(
    { backup: key, errors, attempts: memory.attempts, retryInMs: waitMs },
    'a backup could not be deleted yet',
  )
  if (!isSame(errors, request.status?.errors ?? [])) {
    await patchRequest(request, { status: { phase: 'InProgress', errors: [...errors] } }, scope)
  }
  return again({ afterMs: waitMs })
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at])
}

/** The request is not tried again. The backup, if it was being deleted, stays so until the next request. */
async function endRequest(
  request: DeleteBackupRequest,
  errors: readonly string[],
  scope: Scope,
): Promise<void> {
  const { client, clock, log, signal, key } = scope
  log.warn({ backup: key, request: request.metadata.name, errors }, 'a backup was not deleted')
  await patchRequest(request, { status: { phase: 'Processed', errors: [...errors] } }, scope)
  await recordEvent(
    { about: request, type: 'Warning', reason: 'BackupNotDeleted', message: errors.join('; ') },
    { client, clock, log, signal },
  )
}

async function patchRequest(
  request: DeleteBackupRequest,
  body: { metadata?: object; status: DeleteBackupRequestStatus },
  { client, requests, signal }: Scope,
): Promise<void> {
  await patchInPhase(request, { kind: DeleteBackupRequestKind, body }, { client, latest: requests, signal })
}

/** Those that came meanwhile, too: they ask for what is done. */
async function removeAllRequests({ metadata }: Backup, scope: Scope): Promise<void> {
  const { client, signal } = scope
  const requests = client.resource(DeleteBackupRequestKind, metadata.namespace)
  for await (const request of requests.list({ signal })) {
    const uid = request.metadata.labels?.[labelNames.backupUid] || metadata.uid
    if (request.spec.backupName === metadata.name && uid === metadata.uid) await removeRequest(request, scope)
  }
}

async function removeRequest({ metadata }: DeleteBackupRequest, { client, signal }: Scope): Promise<void> {
  const preconditions = { uid: metadata.uid }
  await client
    .resource(DeleteBackupRequestKind, metadata.namespace)
    .delete(metadata.name ?? '', { preconditions, signal })
    .catch(unlessNotFound)
}

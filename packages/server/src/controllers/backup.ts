import { type Backup, BackupKind, type BackupStatus, formatTime } from '@lateen/api'
import {
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { observeFacts } from '../backup/observe-facts.ts'
import { type PerformPorts, performBackup, phaseAfterWork } from '../backup/perform-backup.ts'
import { type BackupDefaults, type PreparedBackup, prepareBackup } from '../backup/prepare/prepare-backup.ts'
import { PublishError, storingOrNothing } from '../backup/publish-backup.ts'
import { type BackupStore, createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { failInterrupted, leftoversAnnotation, removeLeftovers } from './fail-interrupted.ts'
import type { LatestObjects } from './latest-objects.ts'
import { patchObject } from './patch-object.ts'
import { ProgressPatches } from './progress-patches.ts'
import { recordEvent } from './record-event.ts'

export interface BackupControllerOptions {
  client: KubeClient
  informer: Informer<Backup>
  backups: LatestObjects<Backup>
  clock: Clock
  random: () => number
  /** Where the server's own objects live. */
  namespace: string
  ports: LocationPorts
  perform: PerformPorts
  defaults: BackupDefaults
  concurrentBackups: number
}

export type BackupStep =
  | { type: 'start' }
  /** In progress, but not here: whoever did it is gone. */
  | { type: 'fail-interrupted' }
  /** It failed, and so did removing what it had stored. */
  | { type: 'remove-leftovers' }
  | { type: 'ignore' }

/** What to do about a backup. `running` tells that this process is working on it. */
export function nextStep(backup: Backup | undefined, running: boolean): BackupStep {
  if (backup === undefined || running) return { type: 'ignore' }
  switch (backup.status?.phase) {
    case 'ReadyToStart':
      return { type: 'start' }
    case 'InProgress':
      return { type: 'fail-interrupted' }
    case 'Failed':
      return backup.metadata.annotations?.[leftoversAnnotation] === undefined
        ? { type: 'ignore' }
        : { type: 'remove-leftovers' }
    default:
      return { type: 'ignore' }
  }
}

const PROGRESS_MS = 1_000

/** How long a server that is told to stop may take to say what became of its backups. */
const LAST_WORDS_MS = 4_000

/** Takes the backups whose turn has come. */
export function backupController(options: BackupControllerOptions): ControllerOptions {
  const { informer, backups } = options
  const running = new Set<string>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const backup = backups.get(key)
    const step = nextStep(backup, running.has(key))
    if (backup === undefined || step.type === 'ignore') return done()
    if (step.type === 'fail-interrupted') {
      await failInterrupted(backup, { ...options, ...context })
      return done()
    }
    if (step.type === 'remove-leftovers') {
      await removeLeftovers(backup, { ...options, ...context })
      await patchBackup(
        backup,
        { metadata: { annotations: { [leftoversAnnotation]: null } } },
        { ...options, ...context },
      )
      return done()
    }
    running.add(key)
    try {
      await takeBackup(backup, { ...options, ...context })
    } finally {
      running.delete(key)
    }
    return done()
  }

  return {
    name: 'backup',
    sources: [watching({ informer })],
    reconcile,
    concurrency: options.concurrentBackups,
  }
}

type Scope = BackupControllerOptions & ReconcileContext

async function takeBackup(found: Backup, scope: Scope): Promise<void> {
  const prepared = await prepare(found, scope)
  if (prepared.validationErrors.length > 0) {
    const status = { phase: 'FailedValidation' as const, validationErrors: [...prepared.validationErrors] }
    await move(prepared.backup, status, scope)
    return
  }
  const startTimestamp = formatTime(scope.clock.now())
  let started: Backup | undefined
  try {
    await using place = await openPlace(prepared, scope)
    started = await move(prepared.backup, { phase: 'InProgress', startTimestamp }, scope)
    if (started !== undefined) await performAndMove({ backup: started, prepared, store: place.store }, scope)
  } catch (error) {
    // One that has not begun is left for the next server.
    if (started === undefined) scope.signal.throwIfAborted()
    await fail(started ?? prepared.backup, error, scope)
  }
}

/**
 * Opens the store and makes sure that the backup's name is free there. This comes before the backup is in progress, so that whatever
 * lies under the name of an interrupted backup is its own.
 */
async function openPlace(
  { backup, storageLocation }: PreparedBackup,
  { ports, clock, random, signal }: Scope,
): Promise<{ store: BackupStore } & AsyncDisposable> {
  if (storageLocation === undefined) throw new Error('the backup has no storage location')
  const location = await openLocation(storageLocation, ports, signal)
  try {
    const store = createBackupStore({ location, clock, random })
    await requireFreeName(backup, store, signal)
    return { store, [Symbol.asyncDispose]: () => location[Symbol.asyncDispose]() }
  } catch (error) {
    await location[Symbol.asyncDispose]()
    throw error
  }
}

async function prepare(backup: Backup, scope: Scope): Promise<PreparedBackup> {
  const { client, namespace, defaults, signal, clock } = scope
  const { globalVolumePolicies } = defaults
  const facts = await observeFacts(backup, { client, namespace, globalVolumePolicies, signal })
  return prepareBackup({ backup, facts, defaults, now: clock.now() })
}

async function performAndMove(work: Performance, scope: Scope): Promise<void> {
  const { backup, store } = work
  const { clock, signal } = scope
  const performed = await performShowingProgress(work, scope)
  const status: BackupStatus = { ...performed.status, phase: phaseAfterWork(performed) }
  if (status.phase !== 'Failed') {
    const moved = await move(backup, status, scope)
    // Whoever deleted the backup meanwhile does not want its files either.
    if (moved === undefined) await store.deleteBackup(backup.metadata.name ?? '', signal)
    return
  }
  const completionTimestamp = formatTime(clock.now())
  const failed = { ...backup, status: { ...backup.status, ...status, completionTimestamp } }
  const name = backup.metadata.name ?? ''
  await storingOrNothing({ store, name, signal }, () => store.putMetadata(failed, signal))
  await move(backup, { ...status, completionTimestamp }, scope)
}

interface Performance {
  backup: Backup
  prepared: PreparedBackup
  store: BackupStore
}

async function performShowingProgress({ backup, prepared, store }: Performance, scope: Scope) {
  await using progress = new ProgressPatches<{ itemsBackedUp: number; totalItems: number }>({
    clock: scope.clock,
    everyMs: PROGRESS_MS,
    patch: ({ itemsBackedUp, totalItems }, signal) =>
      patchBackup(backup, { status: { progress: { itemsBackedUp, totalItems } } }, { ...scope, signal }),
  })
  const { policies, warnings } = prepared
  return await performBackup(
    { backup, policies, warnings, store, onProgress: now => progress.report(now) },
    scope.perform,
    scope.signal,
  )
}

async function requireFreeName({ metadata }: Backup, store: BackupStore, signal: AbortSignal) {
  if (!(await store.hasAny(metadata.name ?? '', signal))) return
  throw new Error(
    'backup already exists in object storage: its folder in the bucket is not empty. Choose another name, or delete what is there',
  )
}

/** Even a server that is told to stop says what became of the backup, if it can in a few seconds. */
async function fail(backup: Backup, error: unknown, scope: Scope): Promise<void> {
  const stopped = scope.signal.aborted
  const failureReason = stopped
    ? 'the server was stopped during the backup'
    : error instanceof Error
      ? error.message
      : String(error)
  if (!stopped) scope.log.error({ error, backup: backup.metadata.name }, 'backup failed')
  const completionTimestamp = formatTime(scope.clock.now())
  const signal = stopped ? AbortSignal.timeout(LAST_WORDS_MS) : scope.signal
  const annotations = {
    ...backup.metadata.annotations,
    ...(hasLeftovers(error) && { [leftoversAnnotation]: 'true' }),
  }
  const failed = { ...backup, metadata: { ...backup.metadata, annotations } }
  await move(failed, { phase: 'Failed', failureReason, completionTimestamp }, { ...scope, signal })
}

function hasLeftovers(error: unknown): boolean {
  return error instanceof PublishError && error.leftovers
}

/** Moves the backup to another phase, with everything that was filled in. Undefined when it is gone. */
async function move(backup: Backup, status: BackupStatus, scope: Scope): Promise<Backup | undefined> {
  const { labels, annotations } = backup.metadata
  const body = {
    metadata: { labels, annotations },
    spec: backup.spec,
    status: { ...backup.status, ...status },
  }
  const written = await patchBackup(backup, body, scope)
  if (written === undefined) return undefined
  scope.log.info({ backup: backup.metadata.name, ...pick(status) }, 'backup moved')
  const { client, clock, log, signal } = scope
  const type = status.phase === 'Failed' || status.phase === 'FailedValidation' ? 'Warning' : 'Normal'
  const message = status.failureReason ?? status.validationErrors?.join('; ') ?? `Backup is ${status.phase}`
  await recordEvent(
    { about: written, type, reason: `Backup${status.phase}`, message },
    { client, clock, log, signal },
  )
  return written
}

function pick({ phase, failureReason, validationErrors, warnings, errors }: BackupStatus): object {
  return { phase, failureReason, validationErrors, warnings, errors }
}

function patchBackup(
  backup: Backup,
  body: object,
  { client, backups, signal }: Pick<Scope, 'client' | 'backups' | 'signal'>,
): Promise<Backup | undefined> {
  const patch = { type: 'merge', body } as const
  return patchObject(backup, { kind: BackupKind, patch }, { client, latest: backups, signal })
}

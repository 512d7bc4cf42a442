import { formatTime, type Restore, RestoreKind, type RestoreStatus } from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  isNotFound,
  type KubeClient,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { createBackupStore } from '../backup-store/backup-store.ts'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { type ObservedRestore, observeRestore } from '../restore/observe-facts.ts'
import { type PerformRestorePorts, performRestore, phaseAfterRestoring } from '../restore/perform-restore.ts'
import {
  type PreparedRestore,
  prepareRestore,
  type RestoreDefaults,
} from '../restore/prepare/prepare-restore.ts'
import type { LatestObjects } from './latest-objects.ts'
import { ProgressPatches } from './progress-patches.ts'
import { recordEvent } from './record-event.ts'
import { restoresOverlap } from './restores-overlap.ts'

export interface RestoreControllerOptions {
  client: KubeClient
  informer: Informer<Restore>
  restores: LatestObjects<Restore>
  clock: Clock
  random: () => number
  /** Where the server's own objects live. */
  namespace: string
  ports: LocationPorts
  perform: PerformRestorePorts
  defaults: RestoreDefaults
}

export type RestoreStep =
  | { type: 'start' }
  /** In progress, but not here: whoever did it is gone. */
  | { type: 'fail-interrupted' }
  | { type: 'finish' }
  | { type: 'ignore' }

/** What to do about a restore. `running` tells that this process is working on it. */
export function nextStep(restore: Restore | undefined, running: boolean): RestoreStep {
  if (restore === undefined || running || restore.metadata.deletionTimestamp !== undefined) {
    return { type: 'ignore' }
  }
  switch (restore.status?.phase) {
    case undefined:
    case 'New':
      return { type: 'start' }
    case 'InProgress':
      return { type: 'fail-interrupted' }
    case 'Finalizing':
    case 'FinalizingPartiallyFailed':
      return { type: 'finish' }
    default:
      return { type: 'ignore' }
  }
}

const PROGRESS_MS = 1_000
const LAST_WORDS_MS = 4_000

/** A restore that waits for another looks again this often. */
const WAIT_MS = 1_000

/** Restores at the same time; others stay New. */
const CONCURRENCY = 4

/** Velero's own words, which people search for. */
const interrupted = 'found a restore with status "InProgress" during the server starting, mark it as "Failed"'

/** Restores backups, several at once as long as they do not touch the same namespaces. */
export function restoreController(options: RestoreControllerOptions): ControllerOptions {
  const { informer, restores, clock } = options
  const running = new Map<string, Restore>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const restore = restores.get(key)
    const scope = { ...options, ...context }
    const step = nextStep(restore, running.has(key))
    if (restore === undefined) return done()
    switch (step.type) {
      case 'start':
        if ([...running.values()].some(other => restoresOverlap(restore, other))) {
          return again({ afterMs: WAIT_MS })
        }
        running.set(key, restore)
        try {
          await takeRestore(restore, scope)
        } finally {
          running.delete(key)
        }
        return done()
      case 'fail-interrupted': {
        const completionTimestamp = formatTime(clock.now())
        await move(restore, { phase: 'Failed', failureReason: interrupted, completionTimestamp }, scope)
        return done()
      }
      case 'finish': {
        const phase = restore.status?.phase === 'Finalizing' ? 'Completed' : 'PartiallyFailed'
        await move(restore, { phase, completionTimestamp: formatTime(clock.now()) }, scope)
        return done()
      }
      case 'ignore':
        return done()
    }
  }

  return { name: 'restore', sources: [watching({ informer })], reconcile, concurrency: CONCURRENCY }
}

type Scope = RestoreControllerOptions & ReconcileContext

async function takeRestore(restore: Restore, scope: Scope): Promise<void> {
  const { client, namespace, defaults, clock, signal } = scope
  const observed = await observeRestore(restore, { client, namespace, signal })
  const prepared = prepareRestore({ restore, facts: observed.facts, defaults })
  const { validationErrors } = prepared
  if (validationErrors.length > 0) {
    await move(restore, { phase: 'FailedValidation', validationErrors: [...validationErrors] }, scope)
    return
  }
  const startTimestamp = formatTime(clock.now())
  const started = await move(prepared.restore, { phase: 'InProgress', startTimestamp }, scope)
  if (started === undefined) return
  try {
    await performAndMove(started, { ...prepared, observed }, scope)
  } catch (error) {
    await fail(started, error, scope)
  }
}

async function performAndMove(
  restore: Restore,
  { backup, location, policies, observed }: PreparedRestore & { observed: ObservedRestore },
  scope: Scope,
): Promise<void> {
  if (backup === undefined || location === undefined) throw new Error('the backup has no storage location')
  const { clock, random, signal } = scope
  await using opened = await openLocation(location, scope.ports, signal)
  const store = createBackupStore({ location: opened, clock, random })
  await using progress = new ProgressPatches<{ itemsRestored: number; totalItems: number }>({
    clock,
    everyMs: PROGRESS_MS,
    patch: ({ itemsRestored, totalItems }, abort) =>
      patchRestore(
        restore,
        { status: { progress: { itemsRestored, totalItems } } },
        { ...scope, signal: abort },
      ),
  })
  const { modifiers } = observed
  const request = { restore, backup, policies, modifiers, store }
  const performed = await performRestore(
    { ...request, onProgress: now => progress.report(now) },
    scope.perform,
    signal,
  )
  await progress[Symbol.asyncDispose]()
  const phase = phaseAfterRestoring(performed)
  const ended = phase === 'Failed' && { completionTimestamp: formatTime(clock.now()) }
  await move(restore, { ...performed.status, phase, ...ended }, scope)
}

/** Even a server that is told to stop says what became of the restore, if it can in a few seconds. */
async function fail(restore: Restore, error: unknown, scope: Scope): Promise<void> {
  const stopped = scope.signal.aborted
  const reason = error instanceof Error ? error.message : String(error)
  const failureReason = stopped ? 'the server was stopped during the restore' : reason
  if (!stopped) scope.log.error({ error, restore: restore.metadata.name }, 'restore failed')
  const completionTimestamp = formatTime(scope.clock.now())
  const signal = stopped ? AbortSignal.timeout(LAST_WORDS_MS) : scope.signal
  await move(restore, { phase: 'Failed', failureReason, completionTimestamp }, { ...scope, signal })
}

/** Moves the restore to another phase, with everything that was filled in. Undefined when it is gone. */
async function move(restore: Restore, status: RestoreStatus, scope: Scope): Promise<Restore | undefined> {
  const body = { spec: restore.spec, status: { ...restore.status, ...status } }
  const written = await patchRestore(restore, body, scope)
  if (written === undefined) return undefined
  const { phase, failureReason, validationErrors, warnings, errors } = status
  const fields = { phase, failureReason, validationErrors, warnings, errors }
  scope.log.info({ restore: restore.metadata.name, ...fields }, 'restore moved')
  const { client, clock, log, signal } = scope
  const type = phase === 'Failed' || phase === 'FailedValidation' ? 'Warning' : 'Normal'
  const message = failureReason ?? validationErrors?.join('; ') ?? `Restore is ${phase}`
  const event = { about: written, type, reason: `Restore${phase}`, message } as const
  await recordEvent(event, { client, clock, log, signal })
  return written
}

async function patchRestore(
  { metadata }: Restore,
  body: object,
  { client, restores, signal }: Pick<Scope, 'client' | 'restores' | 'signal'>,
): Promise<Restore | undefined> {
  try {
    const written = await client
      .resource(RestoreKind, metadata.namespace)
      .patch(metadata.name ?? '', { type: 'merge', body }, { signal })
    restores.note(written)
    return written
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

import { type Restore, RestoreKind, type RestoreStatus } from '@lateen/api'
import {
  type Clock,
  isInvalid,
  isRetryable,
  type KubeClient,
  type Logger,
  type Patch,
  unlessNotFound,
} from '@lateen/kube'
import type { LatestObjects } from './latest-objects.ts'
import { patchObject } from './patch-object.ts'
import { recordEvent } from './record-event.ts'

export interface MoveScope {
  client: KubeClient
  restores: LatestObjects<Restore>
  clock: Clock
  log: Logger
  signal: AbortSignal
}

/**
 * Moves a restore out of the phase that it has here. Undefined when it is gone, or in another phase meanwhile: another server has
 * taken it over, and what this one knows counts no longer. Throws KubeErrors.
 */
export async function moveRestore(
  restore: Restore,
  status: RestoreStatus,
  scope: MoveScope,
): Promise<Restore | undefined> {
  const moved = await patchStatus(restore, status, scope)
  if (moved !== undefined) await tellOfMove(moved, status, scope)
  return moved
}

/** Changes the status of a restore that has the phase that it has here, and tells nobody. Otherwise as moving. */
export function patchStatus(
  restore: Restore,
  status: RestoreStatus,
  scope: MoveScope,
): Promise<Restore | undefined> {
  const body = [
    { op: 'test', path: '/metadata/uid', value: restore.metadata.uid },
    { op: 'test', path: '/status/phase', value: restore.status?.phase },
    { op: 'add', path: '/status', value: { ...restore.status, ...status } },
  ]
  return patchIfSame(restore, body, scope)
}

/** For as long as a move is repeated that the API server does not take: work of hours would be lost with it. */
const PATIENCE_MS = 600_000
const PAUSE_MS = 1_000

async function patchIfSame(
  restore: Restore,
  body: readonly object[],
  scope: MoveScope,
): Promise<Restore | undefined> {
  const giveUp = scope.clock.now() + PATIENCE_MS
  for (;;) {
    try {
      return await patchRestore(restore, { type: 'json', body }, scope)
    } catch (error) {
      scope.signal.throwIfAborted()
      if (isInvalid(error) && (await hasMoved(restore, scope))) return undefined
      if (!isRetryable(error) || scope.clock.now() >= giveUp) throw error
      await scope.clock.sleep(PAUSE_MS, scope.signal)
    }
  }
}

async function hasMoved(restore: Restore, scope: MoveScope): Promise<boolean> {
  const now = await readRestore(restore, scope)
  if (now?.metadata.uid !== restore.metadata.uid) return true
  return now?.status?.phase !== restore.status?.phase
}

function readRestore({ metadata }: Restore, { client, signal }: MoveScope) {
  return client
    .resource(RestoreKind, metadata.namespace)
    .get(metadata.name ?? '', { signal })
    .catch(unlessNotFound)
}

/** Says in the server's log and in an event what became of a restore. */
export async function tellOfMove(restore: Restore, status: RestoreStatus, scope: MoveScope): Promise<void> {
  const { client, clock, log, signal } = scope
  const { phase, failureReason, validationErrors, warnings, errors } = status
  const fields = { phase, failureReason, validationErrors, warnings, errors }
  log.info({ restore: restore.metadata.name, ...fields }, 'restore moved')
  const type = phase === 'Failed' || phase === 'FailedValidation' ? 'Warning' : 'Normal'
  const message = failureReason ?? validationErrors?.join('; ') ?? `Restore is ${phase}`
  await recordEvent(
    { about: restore, type, reason: `Restore${phase}`, message },
    { client, clock, log, signal },
  )
}

/** Undefined when it is gone. Throws other KubeErrors. */
export function patchRestore(
  restore: Restore,
  patch: Patch,
  { client, restores, signal }: Pick<MoveScope, 'client' | 'restores' | 'signal'>,
): Promise<Restore | undefined> {
  return patchObject(restore, { kind: RestoreKind, patch }, { client, latest: restores, signal })
}

import { isDeepStrictEqual } from 'node:util'
import {
  apiVersionOf,
  type Backup,
  BackupKind,
  type BackupStorageLocation,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  generateNameFor,
  labelNames,
  type Schedule,
  validLabelValue,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  keyOf,
  type ObjectEvent,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { decideRetention, type GcFailure, isPending, labelChange } from '../retention/decide-retention.ts'
import { keptFor } from '../retention/keep-last-good.ts'
import { claimToFillFrom } from './claim-to-fill.ts'
import type { LatestObjects } from './latest-objects.ts'
import { patchObject } from './patch-object.ts'
import { recordEvent } from './record-event.ts'

export interface GcOptions {
  client: KubeClient
  informer: Informer<Backup>
  backups: LatestObjects<Backup>
  locations: Informer<BackupStorageLocation>
  schedules: Informer<Schedule>
  clock: Clock
  /** How often backups are looked at again that have expired and are still there; 0 is once an hour. */
  frequencyMs: number
}

/** Clocks are set, and machines sleep: nobody waits longer than this without a look at the time. */
const LONGEST_WAIT_MS = 3_600_000

/** Timers of Node know no more than 24 days. */
const LONGEST_REST_MS = 24 * LONGEST_WAIT_MS

/** Has backups deleted that have expired. */
export function gcController(options: GcOptions): ControllerOptions {
  const { informer, backups, locations, schedules, clock, frequencyMs } = options
  const restMs = frequencyMs > 0 ? Math.min(LONGEST_REST_MS, frequencyMs) : LONGEST_WAIT_MS
  const kept = new Set<string>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const backup = backups.get(key)
    if (backup === undefined) {
      kept.delete(key)
      return done()
    }
    const scope = { ...options, ...context }
    const { namespace = '' } = backup.metadata
    const step = decideRetention({
      backup,
      location: locations.get({ namespace, name: backup.spec.storageLocation ?? '' }),
      keptFor: () => keptFor({ backup, backups: backups.list(), schedules: schedules.list() }),
      now: clock.now(),
    })
    switch (step.type) {
      case 'ignore':
        return done()
      case 'wait':
        return again({ afterMs: Math.min(LONGEST_WAIT_MS, step.afterMs) })
      case 'busy':
        return again({ afterMs: restMs })
      case 'keep':
        return keep(backup, `it is the last Completed backup of schedule ${step.schedule}`, scope)
      case 'blocked':
        await label(backup, step.failure, scope)
        return again({ afterMs: restMs })
      case 'expire': {
        const claim = await claimToFillFrom(backup, scope)
        if (claim)
          return keep(backup, `the restored claim ${claim} is filled from it once a pod uses it`, scope)
        kept.delete(key)
        await label(backup, undefined, scope)
        await requestDeletion(backup, scope)
        return again({ afterMs: restMs })
      }
    }
  }

  /** Says why it stays, once. */
  async function keep(backup: Backup, reason: string, scope: Scope): Promise<Outcome> {
    const key = keyOf(backup)
    if (!kept.has(key)) await tellOfKeeping(backup, reason, scope)
    kept.add(key)
    return again({ afterMs: restMs })
  }

  const toKeys = ({ metadata }: BackupStorageLocation) =>
    backups
      .list()
      .filter(({ spec }) => spec.storageLocation === metadata.name)
      .map(keyOf)
  return {
    name: 'gc',
    sources: [
      watching({ informer, predicate: concernsRetention }),
      watching({ informer: locations, predicate: unblocks, toKeys }),
    ],
    reconcile,
  }
}

/** Progress does not change when a backup expires. */
function concernsRetention(event: ObjectEvent<Backup>): boolean {
  if (event.type !== 'updated') return true
  const [now, before] = [event.object.status, event.previous.status]
  return now?.phase !== before?.phase || now?.expiration !== before?.expiration
}

function unblocks(event: ObjectEvent<BackupStorageLocation>): boolean {
  if (event.type !== 'updated') return true
  const { object, previous } = event
  return object.status?.phase !== previous.status?.phase || !isDeepStrictEqual(object.spec, previous.spec)
}

type Scope = GcOptions & ReconcileContext

async function label(backup: Backup, failure: GcFailure | undefined, scope: Scope): Promise<void> {
  const { client, backups, log, signal } = scope
  const value = labelChange(backup, failure)
  if (value === undefined) return
  const body = { metadata: { uid: backup.metadata.uid, labels: { [labelNames.gcFailure]: value } } }
  await patchObject(
    backup,
    { kind: BackupKind, patch: { type: 'merge', body } },
    { client, latest: backups, signal },
  )
  if (failure === undefined) return
  const { name } = backup.metadata
  log.warn({ backup: name, location: backup.spec.storageLocation, failure }, 'an expired backup has to stay')
}

/** Asks the API server, and not a cache that may be behind, whether somebody has requested it already. */
async function requestDeletion({ metadata }: Backup, { client, log, signal }: Scope): Promise<void> {
  const { name = '', namespace, uid = '' } = metadata
  const labels = { [labelNames.backupName]: validLabelValue(name), [labelNames.backupUid]: uid }
  const requests = client.resource(DeleteBackupRequestKind, namespace)
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
  for await (const request of requests.list({ labelSelector, signal })) if (isPending(request)) return
  const request: DeleteBackupRequest = {
    apiVersion: apiVersionOf(DeleteBackupRequestKind),
    kind: DeleteBackupRequestKind.kind,
    metadata: { generateName: generateNameFor(name), ...(namespace !== undefined && { namespace }), labels },
    spec: { backupName: name },
  }
  await requests.create(request, { signal })
  log.info({ backup: name }, 'a backup has expired, its deletion is requested')
}

async function tellOfKeeping(backup: Backup, reason: string, scope: Scope): Promise<void> {
  const { client, clock, log, signal } = scope
  log.info({ backup: backup.metadata.name, reason }, 'an expired backup stays')
  const message = `Has expired and stays: ${reason}`
  await recordEvent(
    { about: backup, type: 'Normal', reason: 'BackupKept', message },
    { client, clock, log, signal },
  )
}

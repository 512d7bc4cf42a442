import { isDeepStrictEqual } from 'node:util'
import {
  type BackupStorageLocation,
  BackupStorageLocationKind,
  type BackupStorageLocationStatus,
  durationMilliseconds,
  formatTime,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  isConflict,
  isNotFound,
  type KubeClient,
  keyOf,
  type Logger,
  type ObjectEvent,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { checkLocation } from '../backup-store/check-location.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import type { LocationStatusGauge } from '../metrics/location-status-gauge.ts'

export interface LocationControllerOptions {
  client: KubeClient
  informer: Informer<BackupStorageLocation>
  clock: Clock
  ports: LocationPorts
  gauge: LocationStatusGauge
  /** For locations that name no frequency; 0 turns validation off after the first. */
  validationFrequencyMs: number
  /** A store that has not answered after this long is unavailable. */
  validationTimeoutMs: number
}

/** The last validation that this process made of a location. */
export interface Validated {
  uid: string | undefined
  spec: unknown
  at: number
}

export type LocationStep =
  /** The location is gone. */
  | { type: 'forget' }
  | { type: 'validate' }
  | { type: 'wait'; afterMs: number }
  /** Validation is off. */
  | { type: 'rest' }

export interface LocationFacts {
  location: BackupStorageLocation | undefined
  validated: Validated | undefined
  now: number
  serverFrequencyMs: number
}

/** Hanging stores take up workers until their timeout; this many leave room for others. */
const CONCURRENCY = 8

/** The API server also takes locations without a spec; in the cache they have an empty one. */
export function withSpec(location: BackupStorageLocation): BackupStorageLocation {
  const { spec }: { spec?: BackupStorageLocation['spec'] } = location
  return spec === undefined ? { ...location, spec: {} as BackupStorageLocation['spec'] } : location
}

/** Keeps the status of every location true: Available, or Unavailable and why. */
export function backupStorageLocationController(options: LocationControllerOptions): ControllerOptions {
  const validations = new Map<string, Validated>()
  const { informer, clock } = options

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const location = informer.get(key)
    if (location !== undefined) await dropSurplusDefaults(options, context)
    const facts = { location, validated: validations.get(key), now: clock.now() }
    const step = nextStep({ ...facts, serverFrequencyMs: options.validationFrequencyMs })
    switch (step.type) {
      case 'forget':
        validations.delete(key)
        options.gauge.remove(key.slice(key.indexOf('/') + 1))
        return done()
      case 'validate':
        if (location === undefined) return done()
        await validate(location, options, context)
        validations.set(key, { uid: location.metadata.uid, spec: location.spec, at: facts.now })
        return reschedule(location, options)
      case 'wait':
        return again({ afterMs: step.afterMs })
      case 'rest':
        return done()
    }
  }

  const source = watching({ informer, predicate: changesSpec })
  return { name: 'backup-storage-location', sources: [source], reconcile, concurrency: CONCURRENCY }
}

/** Status has no subresource, so every validation makes an update event; only changes of the spec matter. */
export function changesSpec(event: ObjectEvent<BackupStorageLocation>): boolean {
  return event.type !== 'updated' || !isDeepStrictEqual(event.object.spec, event.previous.spec)
}

/**
 * What to do about a location. A location that this process has not validated yet, or whose spec has changed since, is
 * validated at once, whatever its frequency.
 */
export function nextStep({ location, validated, now, serverFrequencyMs }: LocationFacts): LocationStep {
  if (location === undefined) return { type: 'forget' }
  const { uid } = location.metadata
  const isCurrent = validated?.uid === uid && isDeepStrictEqual(validated?.spec, location.spec)
  if (validated === undefined || !isCurrent) return { type: 'validate' }
  const frequencyMs = frequencyOf(location, serverFrequencyMs)
  if (frequencyMs === 0) return { type: 'rest' }
  const afterMs = validated.at + frequencyMs - now
  return afterMs <= 0 ? { type: 'validate' } : { type: 'wait', afterMs }
}

/** The location's own frequency, else the server's; one that is negative or no duration does not count. */
export function frequencyOf({ spec }: BackupStorageLocation, serverFrequencyMs: number): number {
  try {
    const own = durationMilliseconds(spec.validationFrequency)
    return own === undefined || own < 0 ? serverFrequencyMs : own
  } catch {
    return serverFrequencyMs
  }
}

/** All default locations but the newest, of equally old ones but the first by name. */
export function surplusDefaults(locations: readonly BackupStorageLocation[]): BackupStorageLocation[] {
  const defaults = locations.filter(({ spec }) => spec.default === true)
  const createdAt = ({ metadata }: BackupStorageLocation) => metadata.creationTimestamp ?? ''
  const name = ({ metadata }: BackupStorageLocation) => metadata.name ?? ''
  const [, ...surplus] = defaults.toSorted((a, b) => {
    if (createdAt(a) !== createdAt(b)) return createdAt(a) < createdAt(b) ? 1 : -1
    return name(a) < name(b) ? -1 : 1
  })
  return surplus
}

function reschedule(location: BackupStorageLocation, options: LocationControllerOptions): Outcome {
  const afterMs = frequencyOf(location, options.validationFrequencyMs)
  return afterMs === 0 ? done() : again({ afterMs })
}

async function dropSurplusDefaults(
  { client, informer }: LocationControllerOptions,
  { log, signal }: ReconcileContext,
): Promise<void> {
  for (const location of surplusDefaults(informer.list())) {
    const { name = '', namespace, resourceVersion } = location.metadata
    const body = { metadata: { resourceVersion }, spec: { default: false } }
    try {
      await client
        .resource(BackupStorageLocationKind, namespace)
        .patch(name, { type: 'merge', body }, { signal })
      log.info({ location: name }, 'location is no longer the default, because a newer one is')
    } catch (error) {
      // Someone was faster; the event of that change brings us back here.
      if (!isConflict(error) && !isNotFound(error)) throw error
    }
  }
}

async function validate(
  location: BackupStorageLocation,
  options: LocationControllerOptions,
  { log, signal }: ReconcileContext,
): Promise<void> {
  const { client, clock, ports, gauge, validationTimeoutMs: timeoutMs } = options
  const verdict = await checkLocation(location, ports, { clock, timeoutMs, signal })
  const { name = '', namespace, uid } = location.metadata
  const status = statusOf(name, verdict, clock.now())
  try {
    const body = { metadata: { uid }, status }
    await client
      .resource(BackupStorageLocationKind, namespace)
      .patch(name, { type: 'merge', body }, { signal })
  } catch (error) {
    if (isNotFound(error)) return
    throw error
  }
  gauge.set(name, verdict.available)
  logChange(location, status, log)
}

type StatusPatch = Required<Pick<BackupStorageLocationStatus, 'phase' | 'lastValidationTime'>> & {
  /** Null removes it. */
  message: string | null
}

function statusOf(
  name: string,
  verdict: Awaited<ReturnType<typeof checkLocation>>,
  now: number,
): StatusPatch {
  return {
    phase: verdict.available ? 'Available' : 'Unavailable',
    message: verdict.available
      ? null
      : `BackupStorageLocation ${JSON.stringify(name)} is unavailable: ${verdict.reason}`,
    lastValidationTime: formatTime(now),
  }
}

function logChange(location: BackupStorageLocation, now: StatusPatch, log: Logger): void {
  const before = location.status
  const fields = { location: keyOf(location), phase: now.phase, ...(now.message && { reason: now.message }) }
  if (before?.phase === now.phase && (before.message ?? '') === (now.message ?? '')) {
    log.debug(fields, 'location validated')
  } else if (now.phase === 'Available') {
    log.info(fields, 'location is available')
  } else {
    log.warn(fields, 'location is unavailable')
  }
}

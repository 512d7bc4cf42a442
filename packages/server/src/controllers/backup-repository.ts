import {
  type BackupRepository,
  BackupRepositoryKind,
  type BackupRepositoryStatus,
  type BackupStorageLocation,
  formatGoDuration,
  formatTime,
  labelNames,
  nameOrHash,
  parseGoDuration,
  repositoryTypeOf,
} from '@lateen/api'
import {
  again,
  type Clock,
  type ControllerOptions,
  done,
  type Informer,
  type KubeClient,
  keyOf,
  type Outcome,
  type ReconcileContext,
  watching,
} from '@lateen/kube'
import { decideRepository, type RepositoryStep } from '../backup-repository/decide-repository.ts'
import { locationPlace, placeAnnotation } from '../backup-repository/location-place.ts'
import {
  defaultKeptJobs,
  type MaintenanceConfig,
  parseMaintenanceConfig,
} from '../backup-repository/maintenance-config.ts'
import type { Job } from '../backup-repository/maintenance-job.ts'
import { deleteJobs, finishedRuns, startMaintenance } from '../backup-repository/maintenance-jobs.ts'
import { remembering } from '../backup-repository/maintenance-runs.ts'
import { type ManagedRepositoryPorts, managedRepository } from '../backup-repository/managed-repository.ts'
import { parseRepositoryConfig } from '../backup-repository/repository-config.ts'
import { ensureRepositoryPassword } from '../backup-repository/repository-password.ts'
import { resticIdentifier } from '../backup-repository/restic-identifier.ts'
import { failureWords } from '../data-path/mover-message.ts'
import { configMapData } from '../filters/policies/config-map-data.ts'
import { LatestObjects } from './latest-objects.ts'
import { patchObject } from './patch-object.ts'

export interface BackupRepositoryOptions {
  client: KubeClient
  informer: Informer<BackupRepository>
  locations: Informer<BackupStorageLocation>
  /** Those that maintain repositories. */
  jobs: Informer<Job>
  /** Of the server's own objects. */
  namespace: string
  clock: Clock
  ports: Omit<ManagedRepositoryPorts, 'log' | 'clock'>
  /** How often repositories are maintained; 0: as often as suits their format. */
  maintenanceFrequencyMs: number
  /** Names of ConfigMaps; empty for none. */
  configMaps: { repository: string; maintenance: string }
  logLevel: string
  logFormat: string
}

/** Clocks are set, and machines sleep: nobody waits longer than this without a look at the time. */
const LONGEST_WAIT_MS = 300_000

/** As often as kopia wants its quick maintenance, and restic its only one. */
const frequencies = { kopia: 3_600_000, restic: 7 * 24 * 3_600_000 } as const

/** Opens repositories, tells whether they can be used, and has them maintained. */
export function backupRepositoryController(options: BackupRepositoryOptions): ControllerOptions {
  const { informer, locations, jobs, namespace, clock } = options
  const repositories = new LatestObjects(informer)
  const triedAt = new Map<string, number>()

  async function reconcile(key: string, context: ReconcileContext): Promise<Outcome> {
    const repository = repositories.get(key)
    if (repository === undefined) {
      triedAt.delete(key)
      return done()
    }
    const scope: Scope = { ...options, ...context, repositories, triedAt }
    const location = locations.get({ namespace, name: repository.spec.backupStorageLocation })
    const config = await maintenanceConfig(repository, scope)
    const step = decideRepository({
      repository,
      location,
      place: location && locationPlace(location),
      openedPlace: repository.metadata.annotations?.[placeAnnotation],
      jobs: jobsOf(repository, jobs.list()),
      keptJobs: config.keepLatestMaintenanceJobs ?? defaultKeptJobs,
      triedAt: triedAt.get(key),
      now: clock.now(),
    })
    return act(step, { repository, location, config }, scope)
  }

  const ofLocation = ({ metadata }: BackupStorageLocation) =>
    repositories
      .list()
      .filter(({ spec }) => spec.backupStorageLocation === metadata.name)
      .map(keyOf)
  const ofJob = ({ metadata }: Job) =>
    repositories
      .list()
      .filter(
        ({ metadata: { name = '' } }) => nameOrHash(name) === metadata.labels?.[labelNames.repositoryName],
      )
      .map(keyOf)
  return {
    name: 'backup-repo',
    sources: [
      watching({ informer }),
      watching({ informer: locations, predicate: placeMayHaveChanged, toKeys: ofLocation }),
      watching({ informer: jobs, toKeys: ofJob }),
    ],
    reconcile,
    concurrency: 4,
  }
}

function placeMayHaveChanged(event: {
  type: string
  object: BackupStorageLocation
  previous?: BackupStorageLocation
}) {
  if (event.type !== 'updated' || event.previous === undefined) return true
  // Of a location that was read-only, nobody has maintained anything.
  const { accessMode } = event.object.spec
  return (
    locationPlace(event.object) !== locationPlace(event.previous) ||
    accessMode !== event.previous.spec.accessMode
  )
}

interface Scope extends BackupRepositoryOptions, ReconcileContext {
  repositories: LatestObjects<BackupRepository>
  triedAt: Map<string, number>
}

interface Subject {
  repository: BackupRepository
  location: BackupStorageLocation | undefined
  config: MaintenanceConfig
}

async function act(step: RepositoryStep, subject: Subject, scope: Scope): Promise<Outcome> {
  const { repository } = subject
  switch (step.type) {
    case 'ignore':
      return done()
    case 'wait':
      return again({ afterMs: Math.min(LONGEST_WAIT_MS, step.until - scope.clock.now() + 1) })
    case 'lose':
      await writeStatus(repository, { phase: 'NotReady', message: step.message }, scope)
      return done()
    case 'prepare':
      await prepare(subject, scope)
      return again({ afterMs: 0 })
    case 'record':
      await record(repository, step.jobs, scope)
      return again({ afterMs: 0 })
    case 'tidy':
      await deleteJobs(step.jobs, scope)
      return done()
    case 'maintain':
      await maintain(subject, scope)
      // Its end is an event, unless no Job of this repository came of it.
      return again({ afterMs: LONGEST_WAIT_MS })
  }
}

/** Opens the repository and says how that went. What is wrong with it is for its user, not for a retry of this. */
async function prepare({ repository, location }: Subject, scope: Scope): Promise<void> {
  const { clock, ports, log, signal, triedAt } = scope
  if (location === undefined) return
  triedAt.set(keyOf(repository), clock.now())
  const place = locationPlace(location)
  try {
    await ensureRepositoryPassword(scope)
    const filled = await fillSpec(repository, location, scope)
    const managed = await managedRepository(filled, location, { ...ports, clock, log, signal })
    await managed.prepare(signal)
    const status = { phase: 'Ready' as const, message: '', ...firstMaintenance(filled, clock.now()) }
    await write(filled, { metadata: { annotations: { [placeAnnotation]: place } }, status }, scope)
    log.info({ repository: repository.metadata.name }, 'a backup repository is ready')
  } catch (error) {
    signal.throwIfAborted()
    const message = failureWords(error)
    log.warn({ err: error, repository: repository.metadata.name }, 'a backup repository cannot be used')
    const body = {
      metadata: { annotations: { [placeAnnotation]: place } },
      status: { phase: 'NotReady', message },
    }
    await write(repository, body, scope)
  }
}

/** A new repository has nothing to maintain yet. */
function firstMaintenance({ status }: BackupRepository, now: number): Partial<BackupRepositoryStatus> {
  return status?.lastMaintenanceTime ? {} : { lastMaintenanceTime: formatTime(now) }
}

/** What Velero's controller fills in when it first sees a repository. */
async function fillSpec(
  repository: BackupRepository,
  location: BackupStorageLocation,
  scope: Scope,
): Promise<BackupRepository> {
  const { spec, status } = repository
  const type = repositoryTypeOf(spec)
  const frequency = scope.maintenanceFrequencyMs || frequencies[type]
  const isNew = (status?.phase || 'New') === 'New'
  const repositoryConfig = isNew ? await repositoryConfigFor(type, scope) : undefined
  const body = {
    spec: {
      ...(type === 'restic' && { resticIdentifier: resticIdentifier(location, spec.volumeNamespace) }),
      ...(parseGoDuration(spec.maintenanceFrequency) <= 0n && {
        maintenanceFrequency: formatGoDuration(BigInt(frequency) * 1_000_000n),
      }),
      ...(repositoryConfig !== undefined && { repositoryConfig }),
    },
  }
  if (Object.keys(body.spec).length === 0) return repository
  return (await write(repository, body, scope)) ?? repository
}

async function repositoryConfigFor(type: string, scope: Scope): Promise<Record<string, string> | undefined> {
  const { configMaps, log, repositories: _, ...ports } = scope
  const name = configMaps.repository
  try {
    const data = await configMapData(name, ports)
    if (data === undefined && name !== '')
      log.warn({ configMap: name }, 'the ConfigMap for backup repositories does not exist')
    return data && parseRepositoryConfig(data, { type, name })
  } catch (error) {
    scope.signal.throwIfAborted()
    log.warn({ err: error, configMap: name }, 'the settings for backup repositories cannot be used')
    return undefined
  }
}

async function maintenanceConfig({ spec }: BackupRepository, scope: Scope): Promise<MaintenanceConfig> {
  const { configMaps, log, signal } = scope
  const name = configMaps.maintenance
  if (name === '') return {}
  try {
    const data = await configMapData(name, scope)
    return data === undefined ? {} : parseMaintenanceConfig(data, { repository: spec, name })
  } catch (error) {
    signal.throwIfAborted()
    log.warn(
      { err: error, configMap: name },
      'the settings for maintenance cannot be used, the usual ones are',
    )
    return {}
  }
}

async function maintain({ repository, config }: Subject, scope: Scope): Promise<void> {
  const { logLevel, logFormat } = scope
  const failed = await startMaintenance({ repository, config, logLevel, logFormat }, scope)
  if (failed !== undefined) await writeStatus(repository, remembering(repository, [failed]), scope)
}

async function record(repository: BackupRepository, jobs: readonly Job[], scope: Scope): Promise<void> {
  await writeStatus(repository, remembering(repository, await finishedRuns(jobs, scope)), scope)
}

function jobsOf({ metadata }: BackupRepository, jobs: readonly Job[]): Job[] {
  const label = nameOrHash(metadata.name ?? '')
  return jobs.filter(({ metadata }) => metadata.labels?.[labelNames.repositoryName] === label)
}

function writeStatus(repository: BackupRepository, status: Partial<BackupRepositoryStatus>, scope: Scope) {
  return write(repository, { status }, scope)
}

function write(repository: BackupRepository, body: object, { client, repositories, signal }: Scope) {
  const patch = { type: 'merge', body } as const
  return patchObject(
    repository,
    { kind: BackupRepositoryKind, patch },
    { client, latest: repositories, signal },
  )
}

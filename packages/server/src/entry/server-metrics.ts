import {
  type Backup,
  BackupKind,
  BackupRepositoryKind,
  BackupStorageLocationKind,
  DeleteBackupRequestKind,
  isTerminal,
  RestoreKind,
  ScheduleKind,
} from '@lateen/api'
import {
  type Clock,
  type ControllerOptions,
  type KubeObject,
  type Logger,
  type Manager,
  type RequestObserver,
  withoutManagedFields,
} from '@lateen/kube'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { withSpec } from '../controllers/backup-storage-location.ts'
import { type LateenMetrics, registerLateenMetrics } from '../metrics/lateen-metrics.ts'
import { observeBackups, scheduleOf } from '../metrics/observe-backups.ts'
import { observeController } from '../metrics/observe-controller.ts'
import { observeDeletions } from '../metrics/observe-deletions.ts'
import { observeObjectStore } from '../metrics/observe-object-store.ts'
import { observeRepositories } from '../metrics/observe-repositories.ts'
import { observeRestores } from '../metrics/observe-restores.ts'
import { PhaseTimes } from '../metrics/phase-times.ts'
import { createMetricsRegistry, type Gauge, type MetricsRegistry } from '../metrics/registry.ts'
import { followSchedules } from '../metrics/schedule-series.ts'
import { registerVeleroMetrics, type VeleroMetrics } from '../metrics/velero-metrics.ts'
import type { ObjectStoreRegistry } from '../object-store/registry.ts'
import { isSynced } from '../sync/synced-annotation.ts'
import { showArchiveSizes } from './archive-sizes.ts'
import type { WatchedBackups } from './watched-backups.ts'

export interface WatchOptions {
  namespace: string
  watched: WatchedBackups
  /** For what only the bucket knows. */
  ports: LocationPorts
  log: Logger
}

/** The metrics of a server. Nothing that is measured knows of it: it looks on from outside. */
export interface ServerMetrics {
  readonly registry: MetricsRegistry
  readonly velero: VeleroMetrics
  /** For clients of the API server. */
  readonly requests: RequestObserver
  /** The same stores, observed. */
  stores(stores: ObjectStoreRegistry): ObjectStoreRegistry
  /** The same controller, observed. */
  controller(controller: ControllerOptions): ControllerOptions
  /** Looks on as objects change, and shows it all at `/metrics`. Before the manager runs. */
  watch(manager: Manager, options: WatchOptions): void
}

export function createServerMetrics(clock: Clock): ServerMetrics {
  const registry = createMetricsRegistry()
  const velero = registerVeleroMetrics(registry)
  const own = registerLateenMetrics(registry)
  let findBackup: (name: string) => Backup | undefined = () => undefined
  const stored = ({ key, bytes }: { key: string; bytes: number }) => {
    const name = backupOfArchive(key)
    const backup = name === undefined ? undefined : findBackup(name)
    if (backup !== undefined) velero.backupTarballBytes.set({ schedule: scheduleOf(backup) }, bytes)
  }
  return {
    registry,
    velero,
    requests({ verb, status, tookMs }) {
      own.apiRequests.add({ verb, code: status === undefined ? 'none' : String(status) })
      own.apiSeconds.observe({ verb }, tookMs / 1_000)
    },
    stores: stores => ({
      names: stores.names,
      create: provider => observeObjectStore(stores.create(provider), { provider, own, clock, stored }),
    }),
    controller: controller => observeController(controller, { own, clock }),
    watch(manager, options) {
      const { namespace, watched } = options
      findBackup = name => watched.informer.get({ namespace, name })
      watch({ ...options, manager, registry, velero, own, clock })
    },
  }
}

interface Watching extends WatchOptions {
  manager: Manager
  registry: MetricsRegistry
  velero: VeleroMetrics
  own: LateenMetrics
  clock: Clock
}

function watch(watching: Watching): void {
  const { manager, namespace, watched, registry, velero, own, clock } = watching
  const backups = watched.informer
  const restores = manager.informer(RestoreKind, { namespace, transform: withoutManagedFields })
  const schedules = manager.informer(ScheduleKind, { namespace })
  const requests = manager.informer(DeleteBackupRequestKind, { namespace })
  const repositories = manager.informer(BackupRepositoryKind, { namespace })
  const isLeading = () => manager.isLeading
  const seconds = own.phaseSeconds
  const backupTimes = new PhaseTimes({
    ...{ kind: 'Backup', clock, seconds },
    isLast: phase => isTerminal(BackupKind, phase as never),
  })
  const restoreTimes = new PhaseTimes({
    ...{ kind: 'Restore', clock, seconds },
    isLast: phase => isTerminal(RestoreKind, phase as never),
  })
  backups.subscribe(observeBackups({ velero, own, isLeading }))
  backups.subscribe(event => backupTimes.see(event))
  restores.subscribe(observeRestores({ velero, own, isLeading }))
  restores.subscribe(event => restoreTimes.see(event))
  requests.subscribe(observeDeletions({ velero, isLeading, backups }))
  repositories.subscribe(observeRepositories({ velero, isLeading }))
  const updateSchedules = followSchedules({ velero, own, schedules, backups, isForeign: isSynced })
  registry.beforeRender(() => {
    velero.backupTotal.set({}, backups.size)
    velero.restoreTotal.set({}, restores.size)
    countPhases(own.backups, BackupKind.phases?.phases ?? [], backups.list())
    countPhases(own.restores, RestoreKind.phases?.phases ?? [], restores.list())
    updateSchedules()
  })
  manager.addMetrics(() => registry.render())
  const { ports, log } = watching
  const locations = manager.informer(BackupStorageLocationKind, { namespace, transform: withSpec })
  manager.addTask({
    name: 'archive-sizes',
    run: signal => showArchiveSizes({ backups, schedules, locations, ports, velero, log }, signal),
  })
}

interface Phased extends KubeObject {
  status?: { phase?: string } | undefined
}

function countPhases(gauge: Gauge<'phase'>, phases: readonly string[], objects: readonly Phased[]): void {
  const counts = new Map(phases.map(phase => [phase, 0]))
  for (const { status } of objects) {
    const phase = status?.phase || 'New'
    counts.set(phase, (counts.get(phase) ?? 0) + 1)
  }
  for (const [phase, count] of counts) gauge.set({ phase }, count)
}

/** The name of the backup whose archive is stored under a key. */
function backupOfArchive(key: string): string | undefined {
  return /(?:^|\/)backups\/([^/]+)\/\1\.tar\.gz$/.exec(key)?.[1]
}

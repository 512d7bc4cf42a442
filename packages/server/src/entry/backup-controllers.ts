import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DataDownloadKind, DataUploadKind, DownloadRequestKind, RestoreKind } from '@lateen/api'
import {
  type Clock,
  type ControllerOptions,
  type KubeClient,
  type Logger,
  type Manager,
  withoutManagedFields,
} from '@lateen/kube'
import { observeNamespaces } from '../backup/observe-facts.ts'
import type { PerformPorts } from '../backup/perform-backup.ts'
import { namespacesOf } from '../backup/scope/overlap.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { backupController } from '../controllers/backup.ts'
import { backupFinalizerController } from '../controllers/backup-finalizer.ts'
import { backupOperationsController } from '../controllers/backup-operations.ts'
import { backupQueueController, type ConflictTest } from '../controllers/backup-queue.ts'
import { BusyKeys, keepingBusy } from '../controllers/busy-keys.ts'
import { downloadRequestController } from '../controllers/download-request.ts'
import { endedMoves } from '../controllers/ended-moves.ts'
import { LatestObjects } from '../controllers/latest-objects.ts'
import { restoreController } from '../controllers/restore.ts'
import { restoreFinalizerController } from '../controllers/restore-finalizer.ts'
import { restoreOperationsController } from '../controllers/restore-operations.ts'
import { restoredSnapshotsController } from '../controllers/restored-snapshots.ts'
import { csiFeature } from '../csi/csi-served.ts'
import type { RestoreOperation } from '../operations/restore-operation.ts'
import { WaitingOperations } from '../operations/waiting-operations.ts'
import type { PluginSessions } from '../plugin-host/plugin-session.ts'
import type { PerformRestorePorts } from '../restore/perform-restore.ts'
import { RequestGate } from '../restore/sink/request-gate.ts'
import { noVolumeRestore, type PodVolumeRestores } from '../restore/volumes/volume-restore.ts'
import { createPodVolumeBackups } from '../volumes/pod-volume-backups.ts'
import { PodVolumeRestoresOf, type PodVolumeRestoresOptions } from '../volumes/pod-volume-restores.ts'
import type { OpenSnapshotters } from '../volumes/snapshotters.ts'
import { type BlockWorkers, createBlockWorkers } from '../workers/block-workers.ts'
import type { ServerOptions } from './server-options.ts'
import { createServerScratch, processIsAlive } from './server-scratch.ts'
import type { WatchedBackups } from './watched-backups.ts'

/** What the controllers of backups are made from. */
export interface BackupWiring {
  manager: Manager
  client: KubeClient
  clock: Clock
  random: () => number
  log: Logger
  options: ServerOptions
  ports: LocationPorts
  watched: WatchedBackups
}

/** The workers and scratch of a server's backups. Disposing waits for the work under way. */
export interface BackupEngine extends AsyncDisposable {
  readonly perform: PerformPorts
  /** For what waits for its last work: with workers of its own, as restores have. */
  readonly finish: PerformPorts
  readonly performRestore: PerformRestorePorts
}

export interface EngineWiring extends Pick<BackupWiring, 'client' | 'clock' | 'log' | 'options'> {
  plugins: PluginSessions
  /** Absent: there are no native snapshots. */
  openSnapshotters?: OpenSnapshotters | undefined
  /** Repeats nothing by itself, for requests that have a gate before them. By default the client. */
  gatedClient?: KubeClient
}

/** Makes scratch and starts the workers, which all backups share. Throws what the file system throws. */
export async function createBackupEngine({
  client,
  gatedClient = client,
  clock,
  log,
  options,
  plugins,
  openSnapshotters,
}: EngineWiring): Promise<BackupEngine> {
  // Volumes, hooks and plugins may hold every worker of the backups for hours: restores and the ends of other backups do not wait for that.
  const [workers, finishing, restoring] = poolsOf(options)
  const scratch = await createServerScratch({
    parent: options.scratchFolder ?? path.join(tmpdir(), 'lateen-scratch'),
    pid: process.pid,
    isAlive: processIsAlive,
  })
  const features = new Set(options.features)
  const moving = {
    ...{ client, clock, namespace: options.namespace },
    timeoutMs: options.fsBackupTimeout,
    resourceTimeoutMs: options.backupDefaults.resourceTimeout,
  }
  const perform: PerformPorts = {
    client,
    clock,
    log,
    scratch: scratch.folder,
    workers,
    volumes: {
      podVolumes: { unavailable: 'file system backup is not available without a server' },
      snapshots: { unavailable: 'native snapshots are not available without a server' },
    },
    plugins,
    openSnapshotters,
    openPodVolumes: ({ backup, log: own }) => createPodVolumeBackups({ ...moving, backup, log: own }),
    features,
    pageSize: options.clientPageSize,
    logLevel:
      options.logLevel === 'warn' ? 'warning' : options.logLevel === 'fatal' ? 'error' : options.logLevel,
    logFormat: options.logFormat,
  }
  const performRestore: PerformRestorePorts = {
    ...perform,
    workers: restoring,
    gatedClient,
    gate: new RequestGate({ clock, most: restoring.count }),
    volumes: {
      ...noVolumeRestore,
      csi: features.has(csiFeature) ? { available: true } : { unavailable: 'CSI snapshots are switched off' },
    },
    openPodVolumes: ({ restore, log: own }) => podVolumeRestores({ ...moving, restore, log: own }),
    newUid: randomUUID,
    priorities: options.restorePriorities,
    timeouts: {
      resource: options.backupDefaults.resourceTimeout,
      terminating: options.terminatingResourceTimeout,
    },
  }
  return {
    perform,
    finish: { ...perform, workers: finishing },
    performRestore,
    async [Symbol.asyncDispose]() {
      await Promise.all([workers, finishing, restoring].map(pool => pool[Symbol.asyncDispose]()))
      await scratch[Symbol.asyncDispose]()
    },
  }
}

function poolsOf({
  itemBlockWorkerCount: count,
}: Pick<ServerOptions, 'itemBlockWorkerCount'>): [BlockWorkers, BlockWorkers, BlockWorkers] {
  return [createBlockWorkers({ count }), createBlockWorkers({ count }), createBlockWorkers({ count })]
}

function podVolumeRestores(options: PodVolumeRestoresOptions): PodVolumeRestores {
  const restores = new PodVolumeRestoresOf(options)
  return {
    begin: ({ backup, ...pod }, signal) =>
      restores.begin({ ...pod, location: backup.spec.storageLocation ?? '' }, signal),
    finish: signal => restores.finish(signal),
  }
}

/** Every controller that has to do with taking and restoring backups, and with handing out their files. */
export function backupControllers(wiring: BackupWiring, engine: BackupEngine): ControllerOptions[] {
  const { manager, client, clock, random, options, ports } = wiring
  const { namespace, concurrentBackups } = options
  const { informer, backups, busy } = wiring.watched
  const requests = manager.informer(DownloadRequestKind, { namespace })
  const shared = { client, informer, backups, clock, random, ports }
  return [
    backupQueueController({
      client,
      informer,
      backups,
      concurrentBackups,
      conflictsNow: signal => conflictsIn(client, signal),
    }),
    ...[
      backupController({
        ...shared,
        namespace,
        concurrentBackups,
        perform: engine.perform,
        defaults: options.backupDefaults,
      }),
      backupOperationsController({
        ...{ ...shared, perform: engine.perform, waiting: new WaitingOperations() },
        everyMs: options.itemOperationSyncFrequency,
        resourceTimeoutMs: options.backupDefaults.resourceTimeout,
        moves: endedMoves(manager.informer(DataUploadKind, { namespace })),
      }),
      backupFinalizerController({
        ...{ ...shared, perform: engine.finish },
        resourceTimeoutMs: options.backupDefaults.resourceTimeout,
      }),
    ].map(controller => keepingBusy(controller, busy)),
    downloadRequestController({ client, informer: requests, clock, random, ports }),
    ...restoreControllers(wiring, engine),
  ]
}

function restoreControllers(
  { manager, client, clock, random, options, ports }: BackupWiring,
  { performRestore }: BackupEngine,
): ControllerOptions[] {
  const { namespace, backupDefaults } = options
  const informer = manager.informer(RestoreKind, { namespace, transform: withoutManagedFields })
  const shared = { client, informer, restores: new LatestObjects(informer), clock, random, ports }
  const { plugins } = performRestore
  const waiting = new WaitingOperations<RestoreOperation>()
  const busy = new BusyKeys()
  const { resourceTimeout } = backupDefaults
  return [
    restoreController({
      ...shared,
      namespace,
      perform: performRestore,
      defaults: backupDefaults,
      removalPatienceMs: resourceTimeout,
      waiting,
      busy,
    }),
    restoreOperationsController({
      ...{ ...shared, plugins, waiting, busy },
      everyMs: options.itemOperationSyncFrequency,
      moves: endedMoves(manager.informer(DataDownloadKind, { namespace })),
    }),
    restoreFinalizerController({ ...shared, resourceTimeoutMs: resourceTimeout, busy }),
    restoredSnapshotsController({ ...shared, namespace, busy }),
  ]
}

async function conflictsIn(client: KubeClient, signal: AbortSignal): Promise<ConflictTest> {
  const existing = (await observeNamespaces(client, { signal })).map(({ name }) => name)
  return (one, other) => {
    const taken = new Set(namespacesOf(one, existing))
    return namespacesOf(other, existing).some(name => taken.has(name))
  }
}

import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { BackupKind, DownloadRequestKind, RestoreKind } from '@lateen/api'
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
import { builtInBackupActions } from '../builtin-actions/built-in-backup-actions.ts'
import { builtInRestoreActions } from '../builtin-actions/restore/built-in-restore-actions.ts'
import { initRestoreHookAction } from '../builtin-actions/restore/init-restore-hook-action.ts'
import { backupController } from '../controllers/backup.ts'
import { backupFinalizerController } from '../controllers/backup-finalizer.ts'
import { backupQueueController, type ConflictTest } from '../controllers/backup-queue.ts'
import { downloadRequestController } from '../controllers/download-request.ts'
import { LatestObjects } from '../controllers/latest-objects.ts'
import { restoreController } from '../controllers/restore.ts'
import { restoreFinalizerController } from '../controllers/restore-finalizer.ts'
import type { PerformRestorePorts } from '../restore/perform-restore.ts'
import { RequestGate } from '../restore/sink/request-gate.ts'
import { noVolumeRestore } from '../restore/volumes/volume-restore.ts'
import { type BlockWorkers, createBlockWorkers } from '../workers/block-workers.ts'
import type { ServerOptions } from './server-options.ts'
import { createServerScratch, processIsAlive } from './server-scratch.ts'

/** What the controllers of backups are made from. */
export interface BackupWiring {
  manager: Manager
  client: KubeClient
  clock: Clock
  random: () => number
  log: Logger
  options: ServerOptions
  ports: LocationPorts
}

/** The workers and scratch of a server's backups. Disposing waits for the work under way. */
export interface BackupEngine extends AsyncDisposable {
  readonly perform: PerformPorts
  readonly performRestore: PerformRestorePorts
}

export interface EngineWiring extends Pick<BackupWiring, 'client' | 'clock' | 'log' | 'options'> {
  /** Repeats nothing by itself, for requests that have a gate before them. By default the client. */
  gatedClient?: KubeClient
}

/** Makes scratch and starts the workers, which all backups share. Throws what the file system throws. */
export async function createBackupEngine(
  { client, gatedClient = client, clock, log, options }: EngineWiring,
  workers: BlockWorkers = createBlockWorkers({ count: options.itemBlockWorkerCount }),
): Promise<BackupEngine> {
  const scratch = await createServerScratch({
    parent: options.scratchFolder ?? path.join(tmpdir(), 'lateen-scratch'),
    pid: process.pid,
    isAlive: processIsAlive,
  })
  const features = new Set(options.features)
  const apiGroupVersions = features.has('EnableAPIGroupVersions')
  const perform: PerformPorts = {
    client,
    clock,
    log,
    scratch: scratch.folder,
    workers,
    volumes: {
      podVolumes: { unavailable: 'file system backup is not available in this server yet' },
      snapshots: { unavailable: 'native snapshots are not available in this server yet' },
    },
    actions: async () => builtInBackupActions({ client, apiGroupVersions }),
    features,
    pageSize: options.clientPageSize,
    logLevel:
      options.logLevel === 'warn' ? 'warning' : options.logLevel === 'fatal' ? 'error' : options.logLevel,
    logFormat: options.logFormat,
  }
  const performRestore: PerformRestorePorts = {
    ...perform,
    gatedClient,
    gate: new RequestGate({ clock, most: workers.count }),
    volumes: noVolumeRestore,
    actions: () =>
      builtInRestoreActions({
        client,
        namespace: options.namespace,
        others: [initRestoreHookAction({ newUid: randomUUID })],
      }),
    newUid: randomUUID,
    priorities: options.restorePriorities,
    timeouts: {
      resource: options.backupDefaults.resourceTimeout,
      terminating: options.terminatingResourceTimeout,
    },
  }
  return {
    perform,
    performRestore,
    async [Symbol.asyncDispose]() {
      await workers[Symbol.asyncDispose]()
      await scratch[Symbol.asyncDispose]()
    },
  }
}

/** Every controller that has to do with taking and restoring backups, and with handing out their files. */
export function backupControllers(wiring: BackupWiring, engine: BackupEngine): ControllerOptions[] {
  const { manager, client, clock, random, options, ports } = wiring
  const { namespace, concurrentBackups } = options
  const informer = manager.informer(BackupKind, { namespace, transform: withoutManagedFields })
  const backups = new LatestObjects(informer)
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
    backupController({
      ...shared,
      namespace,
      concurrentBackups,
      perform: engine.perform,
      defaults: options.backupDefaults,
    }),
    backupFinalizerController(shared),
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
  const finalizing = new Set<string>()
  const { resourceTimeout } = backupDefaults
  return [
    restoreController({
      ...shared,
      namespace,
      perform: performRestore,
      defaults: backupDefaults,
      removalPatienceMs: resourceTimeout,
      finalizing,
    }),
    restoreFinalizerController({ ...shared, resourceTimeoutMs: resourceTimeout, finalizing }),
  ]
}

async function conflictsIn(client: KubeClient, signal: AbortSignal): Promise<ConflictTest> {
  const existing = (await observeNamespaces(client, { signal })).map(({ name }) => name)
  return (one, other) => {
    const taken = new Set(namespacesOf(one, existing))
    return namespacesOf(other, existing).some(name => taken.has(name))
  }
}

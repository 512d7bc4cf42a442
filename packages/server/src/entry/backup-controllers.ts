import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { BackupKind, DownloadRequestKind } from '@lateen/api'
import {
  type Clock,
  type ControllerOptions,
  type KubeClient,
  type Logger,
  type Manager,
  withoutManagedFields,
} from '@lateen/kube'
import { type BlockWorkers, createBlockWorkers } from '../backup/blocks/block-workers.ts'
import { observeNamespaces } from '../backup/observe-facts.ts'
import type { PerformPorts } from '../backup/perform-backup.ts'
import { namespacesOf } from '../backup/scope/overlap.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { builtInBackupActions } from '../builtin-actions/built-in-backup-actions.ts'
import { backupController } from '../controllers/backup.ts'
import { backupFinalizerController } from '../controllers/backup-finalizer.ts'
import { backupQueueController, type ConflictTest } from '../controllers/backup-queue.ts'
import { downloadRequestController } from '../controllers/download-request.ts'
import { LatestObjects } from '../controllers/latest-objects.ts'
import type { ServerOptions } from './server-options.ts'

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
}

/** Makes scratch and starts the workers, which all backups share. Throws what the file system throws. */
export async function createBackupEngine(
  { client, clock, log, options }: Pick<BackupWiring, 'client' | 'clock' | 'log' | 'options'>,
  workers: BlockWorkers = createBlockWorkers({ count: options.itemBlockWorkerCount }),
): Promise<BackupEngine> {
  const scratch = options.scratchFolder ?? path.join(tmpdir(), 'lateen-scratch')
  await mkdir(scratch, { recursive: true })
  const features = new Set(options.features)
  const apiGroupVersions = features.has('EnableAPIGroupVersions')
  const perform: PerformPorts = {
    client,
    clock,
    log,
    scratch,
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
  return { perform, [Symbol.asyncDispose]: () => workers[Symbol.asyncDispose]() }
}

/** Every controller that has to do with taking backups, and with handing out their files. */
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
  ]
}

async function conflictsIn(client: KubeClient, signal: AbortSignal): Promise<ConflictTest> {
  const existing = (await observeNamespaces(client, { signal })).map(({ name }) => name)
  return (one, other) => {
    const taken = new Set(namespacesOf(one, existing))
    return namespacesOf(other, existing).some(name => taken.has(name))
  }
}

import {
  BackupRepositoryKind,
  type BackupStorageLocation,
  BackupStorageLocationKind,
  DataDownloadKind,
  DataUploadKind,
  DeleteBackupRequestKind,
  labelNames,
  PodVolumeBackupKind,
  PodVolumeRestoreKind,
  ScheduleKind,
} from '@lateen/api'
import type { Clock, ControllerOptions, Fence, Informer, KubeClient, Logger, Manager } from '@lateen/kube'
import type { ResticSettings } from '@lateen/repo/unified'
import { snapshotForgetter } from '../backup-repository/forget-snapshots.ts'
import { JobKind } from '../backup-repository/maintenance-job.ts'
import type { LocationPorts } from '../backup-store/open-location.ts'
import { backupDeletionController } from '../controllers/backup-deletion.ts'
import { backupRepositoryController } from '../controllers/backup-repository.ts'
import { withSpec } from '../controllers/backup-storage-location.ts'
import { backupSyncController } from '../controllers/backup-sync.ts'
import { gcController } from '../controllers/gc.ts'
import { lostMovesController } from '../controllers/lost-moves.ts'
import { scheduleController } from '../controllers/schedule.ts'
import type { PluginSessions } from '../plugin-host/plugin-session.ts'
import { timeZone } from '../schedule/zoned-time.ts'
import type { OpenSnapshotters } from '../volumes/snapshotters.ts'
import type { ServerMetrics } from './server-metrics.ts'
import type { ServerOptions } from './server-options.ts'
import { watchdogControllers } from './watchdog-controllers.ts'
import type { WatchedBackups } from './watched-backups.ts'

/** What the controllers are made from that make backups come and go. */
export interface LifecycleWiring {
  manager: Manager
  client: KubeClient
  clock: Clock
  random: () => number
  log: Logger
  options: ServerOptions
  ports: LocationPorts
  /** For what reaches buckets by another way than the ports. */
  fence: Fence
  plugins: PluginSessions
  watched: WatchedBackups
  metrics: Pick<ServerMetrics, 'registry'>
  openSnapshotters: OpenSnapshotters | undefined
  /** The restic of this machine; undefined where there is none. */
  restic: ResticSettings | undefined
  /** A folder that exists. */
  scratch: string
}

/** Every controller by which backups come by themselves, and go. */
export function lifecycleControllers(wiring: LifecycleWiring): ControllerOptions[] {
  const { manager, client, clock, random, options, ports } = wiring
  const { namespace } = options
  const { informer, backups, busy } = wiring.watched
  const schedules = manager.informer(ScheduleKind, { namespace })
  const locations = manager.informer(BackupStorageLocationKind, { namespace, transform: withSpec })
  const requests = manager.informer(DeleteBackupRequestKind, { namespace })
  const { plugins, openSnapshotters, scratch } = wiring
  return [
    backupDeletionController({
      ...{ client, informer: requests, backups, busy, clock, random, ports },
      ...{ plugins, openSnapshotters, scratch },
      forgetSnapshots: forgetterOf(wiring),
      resourceTimeoutMs: options.backupDefaults.resourceTimeout,
    }),
    backupSyncController({
      ...{ client, locations, backups: informer, schedules, requests, clock, random, ports },
      syncPeriodMs: options.backupSyncPeriod,
    }),
    gcController({
      ...{ client, informer, backups, locations, schedules, clock },
      frequencyMs: options.garbageCollectionFrequency,
    }),
    repositoryController(wiring, locations),
    lostMovesController({
      ...{ client, clock, namespace },
      backups: manager.informer(PodVolumeBackupKind, { namespace }),
      restores: manager.informer(PodVolumeRestoreKind, { namespace }),
      uploads: manager.informer(DataUploadKind, { namespace }),
      downloads: manager.informer(DataDownloadKind, { namespace }),
    }),
    scheduleController({
      client,
      informer: schedules,
      backups,
      clock,
      skipByDefault: options.scheduleSkipImmediately,
      zone: localZone(),
    }),
    ...watchdogControllers(wiring),
  ]
}

function forgetterOf({ ports, client, clock, log, fence, options, restic }: LifecycleWiring) {
  const { namespace } = options
  return snapshotForgetter({ ...ports, client, namespace, clock, log, fence, restic, env: process.env })
}

function repositoryController(
  { manager, client, clock, options, ports, fence, restic }: LifecycleWiring,
  locations: Informer<BackupStorageLocation>,
): ControllerOptions {
  const { namespace, repositories, logLevel, logFormat } = options
  return backupRepositoryController({
    ...{ client, clock, namespace, locations, logFormat },
    // As Velero calls it.
    logLevel: logLevel === 'warn' ? 'warning' : logLevel,
    informer: manager.informer(BackupRepositoryKind, { namespace }),
    jobs: manager.informer(JobKind, { namespace, labelSelector: labelNames.repositoryName }),
    ports: { ...ports, env: process.env, fence, restic },
    maintenanceFrequencyMs: repositories.maintenanceFrequency,
    configMaps: { repository: repositories.configMap, maintenance: repositories.maintenanceConfigMap },
  })
}

function localZone() {
  const zone = timeZone(Intl.DateTimeFormat().resolvedOptions().timeZone) ?? timeZone('UTC')
  if (zone === undefined) throw new Error('this Node has no time zones')
  return zone
}

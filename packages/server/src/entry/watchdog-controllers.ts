import {
  BackupRepositoryKind,
  BackupStorageLocationKind,
  DataDownloadKind,
  DataUploadKind,
  DeleteBackupRequestKind,
  DownloadRequestKind,
  PodVolumeBackupKind,
  PodVolumeRestoreKind,
  RestoreKind,
  ScheduleKind,
  ServerStatusRequestKind,
} from '@lateen/api'
import { type ControllerOptions, withoutManagedFields } from '@lateen/kube'
import { withSpec } from '../controllers/backup-storage-location.ts'
import { leftSnapshotsController } from '../controllers/left-snapshots.ts'
import { ReportMapKind, reportMapSelector } from '../controllers/report-map.ts'
import { watchdogController } from '../controllers/watchdog.ts'
import { watchdogBucketsController } from '../controllers/watchdog-buckets.ts'
import { createStuckGauge } from '../metrics/stuck-gauge.ts'
import type { PhasedObject } from '../watchdog/stuck-rules.ts'
import type { LifecycleWiring } from './lifecycle-controllers.ts'

/** The controllers that tell of what is stuck or left over. They share their informers with those who do the work. */
export function watchdogControllers(wiring: LifecycleWiring): ControllerOptions[] {
  const { manager, client, clock, random, options, ports, watched } = wiring
  const { namespace } = options
  const { backups } = watched
  const restores = manager.informer(RestoreKind, { namespace, transform: withoutManagedFields })
  const requests = manager.informer(DeleteBackupRequestKind, { namespace })
  const informers = [
    manager.informer(ScheduleKind, { namespace }),
    manager.informer(DownloadRequestKind, { namespace }),
    manager.informer(ServerStatusRequestKind, { namespace }),
    manager.informer(PodVolumeBackupKind, { namespace }),
    manager.informer(PodVolumeRestoreKind, { namespace }),
    manager.informer(DataUploadKind, { namespace }),
    manager.informer(DataDownloadKind, { namespace }),
    manager.informer(BackupRepositoryKind, { namespace }),
  ]
  function* others(): Generator<PhasedObject> {
    yield* restores.list()
    for (const informer of informers) yield* informer.list()
  }
  const gauge = createStuckGauge(wiring.metrics.registry)
  return [
    watchdogController({ client, clock, gauge, backups, requests, others }),
    leftSnapshotsController({ client, clock, random, ports, gauge, ...watched }),
    watchdogBucketsController({
      ...{ client, clock, random, ports, gauge, backups, restores },
      locations: manager.informer(BackupStorageLocationKind, { namespace, transform: withSpec }),
      reports: manager.informer(ReportMapKind, { namespace, fieldSelector: reportMapSelector }),
    }),
  ]
}

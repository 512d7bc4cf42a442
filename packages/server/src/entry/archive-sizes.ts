import { type Backup, type BackupStorageLocation, type Schedule, validLabelValue } from '@lateen/api'
import { type Informer, joinKey, type Logger } from '@lateen/kube'
import { type LocationPorts, openLocation } from '../backup-store/open-location.ts'
import { newestBySchedule } from '../metrics/schedule-series.ts'
import type { VeleroMetrics } from '../metrics/velero-metrics.ts'
import { isSynced } from '../sync/synced-annotation.ts'

export interface ArchiveSizesOptions {
  backups: Informer<Backup>
  schedules: Informer<Schedule>
  locations: Informer<BackupStorageLocation>
  ports: LocationPorts
  velero: Pick<VeleroMetrics, 'backupTarballBytes'>
  log: Logger
}

/**
 * Shows how large the last archive of every schedule is, as the bucket says: no object tells. What cannot be found out stays unknown
 * until the next backup.
 */
export async function showArchiveSizes(options: ArchiveSizesOptions, signal: AbortSignal): Promise<void> {
  const { backups, schedules, velero, log } = options
  const names = new Set(['', ...schedules.list().map(({ metadata }) => validLabelValue(metadata.name ?? ''))])
  for (const [schedule, { lastRun }] of newestBySchedule(backups.list(), isSynced)) {
    if (lastRun === undefined || !names.has(schedule) || signal.aborted) continue
    try {
      const bytes = await archiveSize(lastRun, options, signal)
      if (bytes !== undefined) velero.backupTarballBytes.begin({ schedule }, bytes)
    } catch (err) {
      if (!signal.aborted) log.debug({ err, schedule }, 'the size of an archive is not known')
    }
  }
}

async function archiveSize(
  { metadata, spec }: Backup,
  { locations, ports }: ArchiveSizesOptions,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { namespace = '', name = '' } = metadata
  const location = locations.get(joinKey({ namespace, name: spec.storageLocation ?? '' }))
  if (location === undefined) return undefined
  const reading: BackupStorageLocation = { ...location, spec: { ...location.spec, accessMode: 'ReadOnly' } }
  await using place = await openLocation(reading, ports, signal)
  const key = place.layout.backupKey(name, 'contents')
  return place.store.objectSize?.({ bucket: place.bucket, key, signal })
}

import {
  type Backup,
  BackupKind,
  backupSelector,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  labelNames,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  ScheduleKind,
} from '@lateen/api'
import type {
  BackupDescription,
  BackupResults,
  ItemOperation,
  ResourceList,
  SnapshotReport,
  VolumeInfo,
} from './backup-description.ts'
import { type FetchFile, fileFetcher, type GatherPorts, listedOrWarned } from './fetch-file.ts'
import { legacySnapshots } from './legacy-snapshots.ts'

/** Collects what is to be said of a backup, all files at once. Throws only when the user interrupts. */
export async function gatherDescription(
  backup: Backup,
  ports: GatherPorts,
  details: boolean,
): Promise<BackupDescription> {
  const status = backup.status ?? {}
  const fetchFile = fileFetcher(backup, ports)
  const hasResults = (status.warnings ?? 0) > 0 || (status.errors ?? 0) > 0
  const hasOperations = details && (status.backupItemOperationsAttempted ?? 0) > 0
  const [deleteRequests, kept, podVolumeBackups, results, operations, resourceList, snapshots] =
    await Promise.all([
      deleteRequestsOf(backup, ports),
      keptForOf(backup, ports),
      podVolumeBackupsOf(backup, ports),
      hasResults ? fetchFile<BackupResults>('BackupResults') : undefined,
      hasOperations ? fetchFile<ItemOperation[]>('BackupItemOperations') : undefined,
      details ? fetchFile<ResourceList>('BackupResourceList') : undefined,
      snapshotsOf(backup, fetchFile),
    ])
  return {
    backup,
    deleteRequests,
    keptFor: kept,
    podVolumeBackups,
    results,
    operations,
    resourceList,
    snapshots,
    details,
  }
}

/** As the server decides it when a backup has expired. */
async function keptForOf(backup: Backup, ports: GatherPorts): Promise<string | undefined> {
  const { client, namespace, signal } = ports
  const schedule = backup.metadata.labels?.[labelNames.scheduleName]
  if (!schedule || backup.status?.phase !== 'Completed') return undefined
  const what = `what schedule ${schedule} keeps`
  const list = client.resource(ScheduleKind, namespace).list({ signal })
  const schedules = await listedOrWarned(list.toArray(), what, ports)
  const { keepLastGoodAnnotation, keptFor } = await import('@lateen/server')
  const wanted = [backup, ...schedules].some(
    ({ metadata }) => metadata.annotations?.[keepLastGoodAnnotation] !== undefined,
  )
  if (!wanted) return undefined
  const labelSelector = `${labelNames.scheduleName}=${schedule}`
  const others = client.resource(BackupKind, namespace).list({ labelSelector, signal })
  return keptFor({ backup, backups: await listedOrWarned(others.toArray(), what, ports), schedules })
}

async function snapshotsOf(backup: Backup, fetchFile: FetchFile): Promise<SnapshotReport> {
  const infos = await fetchFile<VolumeInfo[] | null>('BackupVolumeInfos')
  if (infos.got === 'error') return infos
  if (infos.got === 'nothing') return legacySnapshots(backup, fetchFile)
  const by = (method: string) => (infos.content ?? []).filter(info => info.backupMethod === method)
  return { got: 'content', native: by('NativeSnapshot'), csi: by('CSISnapshot'), legacy: false }
}

async function deleteRequestsOf({ metadata }: Backup, ports: GatherPorts): Promise<DeleteBackupRequest[]> {
  const { client, namespace, signal } = ports
  const name = metadata.name ?? ''
  const labelSelector = `${backupSelector(name)},${labelNames.backupUid}=${metadata.uid ?? ''}`
  const requests = client.resource(DeleteBackupRequestKind, namespace).list({ labelSelector, signal })
  return listedOrWarned(requests.toArray(), `DeleteBackupRequests for backup ${name}`, ports)
}

async function podVolumeBackupsOf({ metadata }: Backup, ports: GatherPorts): Promise<PodVolumeBackup[]> {
  const { client, namespace, signal } = ports
  const name = metadata.name ?? ''
  const labelSelector = backupSelector(name)
  const volumes = client.resource(PodVolumeBackupKind, namespace).list({ labelSelector, signal })
  return listedOrWarned(volumes.toArray(), `PodVolumeBackups for backup ${name}`, ports)
}

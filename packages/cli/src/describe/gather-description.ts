import {
  type Backup,
  backupSelector,
  type DeleteBackupRequest,
  DeleteBackupRequestKind,
  type DownloadTargetKind,
  labelNames,
  type PodVolumeBackup,
  PodVolumeBackupKind,
} from '@lateen/api'
import { CliError } from '../cli-error.ts'
import type { DownloadPorts } from '../download/download-ports.ts'
import { downloadJson } from '../download/stream-download.ts'
import { errorReason } from '../output/error-line.ts'
import type {
  BackupDescription,
  BackupResults,
  Fetched,
  ItemOperation,
  ResourceList,
  SnapshotReport,
  VolumeInfo,
} from './backup-description.ts'
import { legacySnapshots } from './legacy-snapshots.ts'

/** What gathering needs besides a way to download. */
export interface GatherPorts extends DownloadPorts {
  /** Hears what could not be listed; the description goes on without it. */
  readonly warn: (message: string) => void
}

/** Brings a JSON file of the backup. */
export type FetchFile = <T>(kind: DownloadTargetKind) => Promise<Fetched<T>>

/** Collects what is to be said of a backup, all files at once. Throws only when the user interrupts. */
export async function gatherDescription(
  backup: Backup,
  ports: GatherPorts,
  details: boolean,
): Promise<BackupDescription> {
  const status = backup.status ?? {}
  const fetchFile: FetchFile = kind => fetchJson(kind, backup, ports)
  const hasResults = (status.warnings ?? 0) > 0 || (status.errors ?? 0) > 0
  const hasOperations = details && (status.backupItemOperationsAttempted ?? 0) > 0
  const [deleteRequests, podVolumeBackups, results, operations, resourceList, snapshots] = await Promise.all([
    deleteRequestsOf(backup, ports),
    podVolumeBackupsOf(backup, ports),
    hasResults ? fetchFile<BackupResults>('BackupResults') : undefined,
    hasOperations ? fetchFile<ItemOperation[]>('BackupItemOperations') : undefined,
    details ? fetchFile<ResourceList>('BackupResourceList') : undefined,
    snapshotsOf(backup, fetchFile),
  ])
  return { backup, deleteRequests, podVolumeBackups, results, operations, resourceList, snapshots, details }
}

async function fetchJson<T>(
  kind: DownloadTargetKind,
  { metadata }: Backup,
  ports: DownloadPorts,
): Promise<Fetched<T>> {
  try {
    return { got: 'content', content: (await downloadJson({ kind, name: metadata.name ?? '' }, ports)) as T }
  } catch (error) {
    ports.signal.throwIfAborted()
    if (error instanceof CliError && error.code === 'NO_FILE') return { got: 'nothing' }
    const doing = error instanceof SyntaxError ? 'reading' : 'getting'
    return { got: 'error', while: doing, reason: errorReason(error) }
  }
}

async function snapshotsOf(backup: Backup, fetchFile: FetchFile): Promise<SnapshotReport> {
  const infos = await fetchFile<VolumeInfo[] | null>('BackupVolumeInfos')
  if (infos.got === 'error') return infos
  if (infos.got === 'nothing') return legacySnapshots(backup, fetchFile)
  const by = (method: string) => (infos.content ?? []).filter(info => info.backupMethod === method)
  return { got: 'content', native: by('NativeSnapshot'), csi: by('CSISnapshot'), legacy: false }
}

async function deleteRequestsOf(
  { metadata }: Backup,
  { client, namespace, signal, warn }: GatherPorts,
): Promise<DeleteBackupRequest[]> {
  const name = metadata.name ?? ''
  const labelSelector = `${backupSelector(name)},${labelNames.backupUid}=${metadata.uid ?? ''}`
  return client
    .resource(DeleteBackupRequestKind, namespace)
    .list({ labelSelector, signal })
    .toArray()
    .catch(error => {
      signal.throwIfAborted()
      warn(`error getting DeleteBackupRequests for backup ${name}: ${errorReason(error)}`)
      return []
    })
}

async function podVolumeBackupsOf(
  { metadata }: Backup,
  { client, namespace, signal, warn }: GatherPorts,
): Promise<PodVolumeBackup[]> {
  const name = metadata.name ?? ''
  return client
    .resource(PodVolumeBackupKind, namespace)
    .list({ labelSelector: backupSelector(name), signal })
    .toArray()
    .catch(error => {
      signal.throwIfAborted()
      warn(`error getting PodVolumeBackups for backup ${name}: ${errorReason(error)}`)
      return []
    })
}

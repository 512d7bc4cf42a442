import { type PodVolumeRestore, PodVolumeRestoreKind, type Restore, restoreSelector } from '@lateen/api'
import type { BackupResults, ItemOperation, ResourceList } from './backup-description.ts'
import { fileFetcher, type GatherPorts, listedOrWarned } from './fetch-file.ts'
import type { RestoreDescription, RestoredVolume } from './restore-description.ts'

/** Collects what is to be said of a restore, all files at once. Throws only when the user interrupts. */
export async function gatherRestoreDescription(
  restore: Restore,
  ports: GatherPorts,
  details: boolean,
): Promise<RestoreDescription> {
  const status = restore.status ?? {}
  const fetchFile = fileFetcher(restore, ports)
  const hasResults = (status.warnings ?? 0) > 0 || (status.errors ?? 0) > 0
  const hasOperations = details && (status.restoreItemOperationsAttempted ?? 0) > 0
  const [podVolumeRestores, results, operations, resourceList, volumes] = await Promise.all([
    podVolumeRestoresOf(restore, ports),
    hasResults ? fetchFile<BackupResults>('RestoreResults') : undefined,
    hasOperations ? fetchFile<ItemOperation[]>('RestoreItemOperations') : undefined,
    details ? fetchFile<ResourceList>('RestoreResourceList') : undefined,
    fetchFile<RestoredVolume[] | null>('RestoreVolumeInfo'),
  ])
  return { restore, podVolumeRestores, results, operations, resourceList, volumes, details }
}

async function podVolumeRestoresOf({ metadata }: Restore, ports: GatherPorts): Promise<PodVolumeRestore[]> {
  const { client, namespace, signal } = ports
  const name = metadata.name ?? ''
  const labelSelector = restoreSelector(name)
  const volumes = client.resource(PodVolumeRestoreKind, namespace).list({ labelSelector, signal })
  return listedOrWarned(volumes.toArray(), `PodVolumeRestores for restore ${name}`, ports)
}

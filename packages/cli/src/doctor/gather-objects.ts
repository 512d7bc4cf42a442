import {
  BackupKind,
  BackupRepositoryKind,
  BackupStorageLocationKind,
  type CustomObject,
  DataDownloadKind,
  DataUploadKind,
  DeleteBackupRequestKind,
  DownloadRequestKind,
  type KindDescription,
  labelNames,
  PodVolumeBackupKind,
  PodVolumeRestoreKind,
  RestoreKind,
  ScheduleKind,
  ServerStatusRequestKind,
} from '@lateen/api'
import { isForbidden, isNotFound, type ResourceType, unlessNotFound } from '@lateen/kube'
import type { DiagnosisFacts } from '@lateen/server'
import type { Place } from '../commands/object-client.ts'

type Gathered = Pick<DiagnosisFacts, 'objects' | 'others' | 'snapshots' | 'everywhere'>

const snapshotKind: ResourceType<DiagnosisFacts['snapshots'][number]> = {
  ...{ group: 'snapshot.storage.k8s.io', version: 'v1', kind: 'VolumeSnapshot' },
  ...{ plural: 'volumesnapshots', namespaced: true },
}

/** Lists all objects of a namespace that a diagnosis looks at. Kinds that the cluster does not know have none. Throws KubeErrors. */
export async function gatherObjects({ client, namespace, signal }: Place): Promise<Gathered> {
  const list = async <T extends CustomObject>(kind: KindDescription<T>): Promise<T[]> =>
    (await client.resource(kind, namespace).list({ signal }).toArray().catch(unlessNotFound)) ?? []
  // What belongs to others is listed before them: what is made meanwhile is not taken for left over.
  const [podVolumeBackups, dataUploads, podVolumeRestores, dataDownloads, repositories] = await Promise.all([
    list(PodVolumeBackupKind),
    list(DataUploadKind),
    list(PodVolumeRestoreKind),
    list(DataDownloadKind),
    list(BackupRepositoryKind),
  ])
  const snapshots = await listSnapshots({ client, signal })
  const everywhere = snapshots.length === 0 ? none : await listEverywhere({ client, signal })
  const restores = await list(RestoreKind)
  const backups = await list(BackupKind)
  const deleteRequests = await list(DeleteBackupRequestKind)
  const locations = await list(BackupStorageLocationKind)
  const others = await Promise.all([
    list(ScheduleKind),
    list(DownloadRequestKind),
    list(ServerStatusRequestKind),
  ])
  const volumes = { podVolumeBackups, dataUploads, podVolumeRestores, dataDownloads, repositories }
  return {
    objects: { ...volumes, restores, backups, deleteRequests, locations },
    others: others.flat(),
    snapshots,
    everywhere,
  }
}

const none = { backups: [] }

/** Whatever snapshots may belong to. Undefined for who may not see all of it. */
async function listEverywhere({
  client,
  signal,
}: Pick<Place, 'client' | 'signal'>): Promise<Gathered['everywhere']> {
  const listed = client.resource(BackupKind).list({ signal }).toArray()
  const backups = await listed.catch((error: unknown) => {
    if (isForbidden(error)) return undefined
    if (isNotFound(error)) return []
    throw error
  })
  return backups && { backups }
}

/** Those that backups take, in whatever namespace. None for who may not see them. */
async function listSnapshots({
  client,
  signal,
}: Pick<Place, 'client' | 'signal'>): Promise<Gathered['snapshots']> {
  const labelled = client.resource(snapshotKind).list({ labelSelector: labelNames.backupUid, signal })
  return labelled.toArray().catch((error: unknown) => {
    if (isNotFound(error) || isForbidden(error)) return []
    throw error
  })
}

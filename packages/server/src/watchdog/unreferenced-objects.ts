import {
  type Backup,
  BackupKind,
  type BackupRepository,
  type BackupStorageLocation,
  type DataDownload,
  DataDownloadKind,
  type DataUpload,
  DataUploadKind,
  type DeleteBackupRequest,
  type KindDescription,
  labelNames,
  type PodVolumeBackup,
  PodVolumeBackupKind,
  type PodVolumeRestore,
  PodVolumeRestoreKind,
  type Restore,
  validLabelValue,
} from '@lateen/api'
import { type Finding, quoted } from './finding.ts'
import type { PhasedObject } from './stuck-rules.ts'

/** The objects of a namespace that refer to each other. */
export interface ClusterObjects {
  readonly backups: readonly Backup[]
  readonly restores: readonly Restore[]
  readonly locations: readonly BackupStorageLocation[]
  readonly deleteRequests: readonly DeleteBackupRequest[]
  readonly repositories: readonly BackupRepository[]
  readonly podVolumeBackups: readonly PodVolumeBackup[]
  readonly podVolumeRestores: readonly PodVolumeRestore[]
  readonly dataUploads: readonly DataUpload[]
  readonly dataDownloads: readonly DataDownload[]
}

/** Objects of which another one that they belong to does not exist. */
export function unreferencedObjects(objects: ClusterObjects): Finding[] {
  return [...withoutLocation(objects), ...withoutBackup(objects), ...withoutRestore(objects)]
}

function withoutLocation({ backups, repositories, locations }: ClusterObjects): Finding[] {
  const names = new Set(locations.map(({ metadata }) => metadata.name))
  const isMissing = (location: string | undefined) => !!location && !names.has(location)
  return [
    ...backups
      // One that has not begun has nothing there.
      .filter(({ spec, status }) => isMissing(spec.storageLocation) && status?.startTimestamp !== undefined)
      .map(backup => unreferenced(backup, `storage location ${backup.spec.storageLocation}`, BackupKind)),
    ...repositories
      .filter(({ spec }) => isMissing(spec.backupStorageLocation))
      .map(repository => {
        const missing = `storage location ${repository.spec.backupStorageLocation}`
        return unreferenced(repository, missing, { group: 'velero.io', plural: 'backuprepositories' })
      }),
  ]
}

function withoutBackup(objects: ClusterObjects): Finding[] {
  const { backups, restores, podVolumeBackups, dataUploads } = objects
  const names = new Set(backups.map(({ metadata }) => metadata.name))
  const labels = labelValues(backups)
  return [
    ...restores
      .filter(({ metadata, status }) => !metadata.deletionTimestamp && status?.phase !== 'FailedValidation')
      .filter(({ spec }) => spec.backupName && !names.has(spec.backupName))
      .map(({ metadata, spec }) => ({
        type: 'unreferenced-object' as const,
        subject: `Restore ${metadata.name}`,
        problem: `is from backup ${spec.backupName}, which does not exist`,
        since: metadata.creationTimestamp,
        mend: `lateen restore delete ${quoted(metadata.name ?? '')} --confirm`,
      })),
    ...unlabelled(podVolumeBackups, PodVolumeBackupKind, {
      label: labelNames.backupName,
      labels,
      of: 'backup',
    }),
    ...unlabelled(dataUploads, DataUploadKind, { label: labelNames.backupName, labels, of: 'backup' }),
  ]
}

function withoutRestore({ restores, podVolumeRestores, dataDownloads }: ClusterObjects): Finding[] {
  const owner = { label: labelNames.restoreName, labels: labelValues(restores), of: 'restore' }
  return [
    ...unlabelled(podVolumeRestores, PodVolumeRestoreKind, owner),
    ...unlabelled(dataDownloads, DataDownloadKind, owner),
  ]
}

interface Owner {
  label: string
  labels: ReadonlySet<string>
  of: string
}

function unlabelled(
  objects: readonly PhasedObject[],
  kind: Pick<KindDescription, 'group' | 'plural'>,
  { label, labels, of }: Owner,
): Finding[] {
  return objects.flatMap(object => {
    const value = object.metadata.labels?.[label]
    return value === undefined || labels.has(value) ? [] : [unreferenced(object, `${of} ${value}`, kind)]
  })
}

function unreferenced(
  { kind, metadata }: PhasedObject,
  missing: string,
  { group, plural }: Pick<KindDescription, 'group' | 'plural'>,
): Finding {
  const { name = '', namespace = '', creationTimestamp } = metadata
  return {
    type: 'unreferenced-object',
    subject: `${kind} ${name}`,
    problem: `belongs to ${missing}, which does not exist`,
    since: creationTimestamp,
    mend: `kubectl delete ${plural}.${group} ${quoted(name)} --namespace ${quoted(namespace)}`,
  }
}

function labelValues(objects: readonly PhasedObject[]): Set<string> {
  return new Set(objects.map(({ metadata }) => validLabelValue(metadata.name ?? '')))
}

import { createHash } from 'node:crypto'
import { labelNames } from './labels.ts'

/** The longest label value and DNS label that Kubernetes accepts. */
export const maxLabelLength = 63

const hashLength = 6

/**
 * A label value for a name: the name itself, or, when it is longer than 63 bytes, its first 57 and six
 * hexadecimal digits of its SHA-256. Velero's selectors depend on this exact form.
 */
export function validLabelValue(name: string): string {
  if (Buffer.byteLength(name) <= maxLabelLength) return name
  const hash = createHash('sha256').update(name).digest('hex')
  const start = Buffer.from(name).subarray(0, maxLabelLength - hashLength)
  return start.toString() + hash.slice(0, hashLength)
}

/** The name itself, or, when it is longer than 63 bytes, its SHA3-224 in hexadecimal digits. */
export function nameOrHash(name: string): string {
  if (Buffer.byteLength(name) <= maxLabelLength) return name
  return createHash('sha3-224').update(name).digest('hex')
}

/** The label selector for what belongs to a backup. */
export function backupSelector(backupName: string): string {
  return `${labelNames.backupName}=${validLabelValue(backupName)}`
}

/** The label selector for what belongs to a restore. */
export function restoreSelector(restoreName: string): string {
  return `${labelNames.restoreName}=${validLabelValue(restoreName)}`
}

/** What tells one BackupRepository from another. */
export interface BackupRepositoryKey {
  volumeNamespace: string
  backupStorageLocation: string
  repositoryType: string
}

/** The name of the BackupRepository for a key. */
export function backupRepositoryName(key: BackupRepositoryKey): string {
  return `${key.volumeNamespace}-${key.backupStorageLocation}-${key.repositoryType}`
}

/** The labels of the BackupRepository for a key, by which it is found whatever its name. */
export function backupRepositoryLabels(key: BackupRepositoryKey): Record<string, string> {
  return {
    [labelNames.volumeNamespace]: validLabelValue(key.volumeNamespace),
    [labelNames.storageLocation]: validLabelValue(key.backupStorageLocation),
    [labelNames.repositoryType]: validLabelValue(key.repositoryType),
  }
}

/**
 * The `generateName` of what belongs to a backup or restore: PodVolumeBackups, PodVolumeRestores, DataUploads,
 * DataDownloads and DeleteBackupRequests.
 */
export function generateNameFor(ownerName: string): string {
  return `${ownerName}-`
}

/** The `generateName` of a VolumeSnapshot of a claim, or of a VolumeGroupSnapshot of a group label's value. */
export function snapshotGenerateName(claimOrGroup: string): string {
  return `velero-${claimOrGroup}-`
}

/** The `generateName` of the ServerStatusRequests of a command line. */
export const serverStatusRequestGenerateName = 'velero-cli-'

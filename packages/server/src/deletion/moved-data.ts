import { type Backup, type DataUpload, DataUploadKind, labelNames, validLabelValue } from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import type { DeletionScope } from './deletion-step.ts'
import { endMoves, movesInCluster } from './end-moves.ts'
import type { RepositorySnapshots } from './forget-volumes.ts'

/** Whether a DataUpload is moved by who comes with the server, and not by a mover of others. */
export function isMovedHere({ spec }: DataUpload): boolean {
  return !spec.datamover || spec.datamover === 'velero'
}

/** An archive has those of other backups, too, when the installation's namespace was backed up. */
export function isUploadOf({ metadata }: DataUpload, { metadata: backup }: Backup): boolean {
  return metadata.labels?.[labelNames.backupName] === validLabelValue(backup.name ?? '')
}

/** The DataUploads of a backup that are in the cluster. Throws KubeErrors. */
export function uploadsInCluster(scope: DeletionScope): Promise<DataUpload[]> {
  return movesInCluster(DataUploadKind, scope)
}

/** Ends the uploads of a backup that are under way. Returns which have not ended in time. Throws KubeErrors, and the signal's reason. */
export function endUploads(scope: DeletionScope): Promise<string[]> {
  return endMoves({ kind: DataUploadKind, what: 'data upload', chosen: isMovedHere }, scope)
}

/** The snapshots that uploads of a backup have stored, each once, by the repository that they are in. */
export function movedSnapshots(uploads: readonly DataUpload[], backup: Backup): RepositorySnapshots[] {
  const ids = new Map<string, Set<string>>()
  for (const upload of uploads) {
    const { sourceNamespace } = upload.spec
    const id = upload.status?.snapshotID
    if (!id || !sourceNamespace || !isMovedHere(upload) || !isUploadOf(upload, backup)) continue
    ids.set(sourceNamespace, (ids.get(sourceNamespace) ?? new Set()).add(id))
  }
  const backupStorageLocation = backup.spec.storageLocation ?? ''
  return [...ids].map(([volumeNamespace, each]) => ({
    key: { volumeNamespace, backupStorageLocation, repositoryType: 'kopia' },
    snapshotIds: [...each],
  }))
}

/** Deletes the DataUploads of a backup. Throws KubeErrors. */
export async function deleteUploads(scope: DeletionScope): Promise<void> {
  const { client, signal } = scope
  for (const { metadata } of await uploadsInCluster(scope)) {
    await client
      .resource(DataUploadKind, metadata.namespace)
      .delete(metadata.name ?? '', { preconditions: { uid: metadata.uid }, signal })
      .catch(unlessNotFound)
  }
}

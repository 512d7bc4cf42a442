import {
  type Backup,
  backupSelector,
  type DataUpload,
  DataUploadKind,
  isTerminal,
  labelNames,
  validLabelValue,
} from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import type { DeletionScope } from './deletion-step.ts'
import type { RepositorySnapshots } from './forget-volumes.ts'

/** How long uploads may take to end once they are told to, and how often it is looked whether they have. */
const PATIENCE_MS = 60_000
const PAUSE_MS = 250

/** Whether a DataUpload is moved by who comes with the server, and not by a mover of others. */
export function isMovedHere({ spec }: DataUpload): boolean {
  return !spec.datamover || spec.datamover === 'velero'
}

/** An archive has those of other backups, too, when the installation's namespace was backed up. */
export function isUploadOf({ metadata }: DataUpload, { metadata: backup }: Backup): boolean {
  return metadata.labels?.[labelNames.backupName] === validLabelValue(backup.name ?? '')
}

/** The DataUploads of a backup that are in the cluster. Throws KubeErrors. */
export function uploadsInCluster({ backup, client, signal }: DeletionScope): Promise<DataUpload[]> {
  const { name = '', namespace } = backup.metadata
  const labelSelector = backupSelector(name)
  return client.resource(DataUploadKind, namespace).list({ labelSelector, signal }).toArray()
}

/**
 * Ends the uploads of a backup that are under way: one that went on would store a snapshot that nobody forgets. Returns which have not
 * ended in time; those that no node agent has taken up are none of them. Throws KubeErrors, and the signal's reason.
 */
export async function endUploads(scope: DeletionScope): Promise<string[]> {
  const { client, clock, signal } = scope
  const giveUp = clock.now() + PATIENCE_MS
  for (;;) {
    const going = (await uploadsInCluster(scope)).filter(
      upload => isMovedHere(upload) && !isTerminal(DataUploadKind, upload.status?.phase),
    )
    if (going.length === 0) return []
    for (const { metadata, spec } of going) {
      if (spec.cancel === true) continue
      const body = { metadata: { uid: metadata.uid }, spec: { cancel: true } }
      await client
        .resource(DataUploadKind, metadata.namespace)
        .patch(metadata.name ?? '', { type: 'merge', body }, { signal })
        .catch(unlessNotFound)
    }
    if (clock.now() >= giveUp) {
      return going
        .filter(({ status }) => (status?.phase ?? 'New') !== 'New')
        .map(({ metadata, status }) => stillGoing(metadata.name ?? '', status?.phase ?? ''))
    }
    await clock.sleep(PAUSE_MS, signal)
  }
}

function stillGoing(name: string, phase: string): string {
  return `error stopping the data upload ${name}: it is still ${phase} after ${PATIENCE_MS / 1000} seconds`
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

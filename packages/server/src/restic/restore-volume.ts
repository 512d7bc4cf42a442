import path from 'node:path'
import { BackupStorageLocationKind, type PodVolumeRestore } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import { type ResticSettings, resticUploaderProvider } from '@lateen/repo/unified'
import { type RepositoryPorts, resticAccess } from '../backup-repository/repository-access.ts'
import { RepositoryError } from '../backup-repository/repository-error.ts'
import { markRestored } from '../data-path/completion-mark.ts'
import { DataPathError } from '../data-path/data-path-error.ts'
import type { Pod } from '../data-path/mover-state.ts'
import { volumePath } from '../data-path/volume-path.ts'
import { RestoreProgress, type VolumeProgress } from './restore-progress.ts'

/** What restores from restic's format are made with. */
export interface LegacyRestorePorts extends RepositoryPorts {
  client: KubeClient
  /** Of the node agent's own objects. */
  namespace: string
  /** Where the node's folder of pods is in this process's file system. */
  podsFolder: string
  /** The restic of this machine; absent where there is none. */
  restic: ResticSettings | undefined
}

export interface LegacyRestoreRun {
  signal: AbortSignal
  onProgress(progress: VolumeProgress): void
}

/**
 * Restores one volume of a pod on this node with the restic program, marks it as restored, and returns its bytes. Throws
 * `RepositoryError`, `DataPathError` or a RepoError for what cannot be restored, and KubeErrors.
 */
export async function restoreVolume(
  { metadata, spec }: PodVolumeRestore,
  pod: Pod | undefined,
  { signal, onProgress, ...ports }: LegacyRestorePorts & LegacyRestoreRun,
): Promise<number> {
  const { client, namespace, podsFolder, restic, clock, log } = ports
  if (restic === undefined) throw noRestic()
  const folder = path.join(
    podsFolder,
    await volumePath(theSame(pod, spec.pod), spec.volume, { ...ports, signal }),
  )
  const location = await client
    .resource(BackupStorageLocationKind, namespace)
    .get(spec.backupStorageLocation, { signal })
  const { sourceNamespace: volumeNamespace, backupStorageLocation } = spec
  const key = { volumeNamespace, backupStorageLocation, repositoryType: 'restic' }
  const repo = await resticAccess({ key, location, identifier: spec.repoIdentifier }, ports, signal)
  const uploader = resticUploaderProvider({ settings: restic, repo, log })
  await using progress = new RestoreProgress(folder, { clock, onProgress })
  const writeSparseFiles = spec.uploaderSettings?.WriteSparseFiles === 'true'
  const { bytes } = await uploader.runRestore(
    { snapshotId: spec.snapshotID, path: folder, uploaderConfig: { writeSparseFiles } },
    { signal, onProgress: heard => progress.heard(heard) },
  )
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  if (owner?.uid) await markRestored(folder, owner.uid)
  return bytes
}

function noRestic(): RepositoryError {
  return new RepositoryError('RESTIC_MISSING', {
    reason: "the data is in restic's format, and there is no restic program here",
    hint: 'Use an image of the node agent that has restic',
  })
}

/** The pod that the volume was meant for. */
function theSame(pod: Pod | undefined, { namespace, name, uid }: PodVolumeRestore['spec']['pod']): Pod {
  if (pod !== undefined && (!uid || pod.metadata.uid === uid)) return pod
  throw new DataPathError('POD_NOT_FOUND', {
    reason: `the pod ${namespace}/${name} is gone`,
    hint: 'It may have been replaced since; restore again',
  })
}

import { labelNames } from '@lateen/api'
import { isForbidden, type KubeClient } from '@lateen/kube'
import { claimSnapshotName } from './claim-snapshot-name.ts'
import { type VolumeSnapshot, VolumeSnapshotKind } from './snapshot-kinds.ts'

/**
 * Whether a snapshot was taken by the backup with that uid. The label alone does not tell, because people copy objects with their labels:
 * the name is one that only the backup gives, or the snapshot is one of a group, which nobody can make by hand.
 */
export function isSnapshotOf({ metadata, spec, status }: VolumeSnapshot, backupUid: string): boolean {
  if (backupUid === '' || metadata.labels?.[labelNames.backupUid] !== backupUid) return false
  if (status?.volumeGroupSnapshotName) return true
  const { namespace = '', name } = metadata
  const claim = spec.source.persistentVolumeClaimName
  return claim !== undefined && name === claimSnapshotName({ backupUid, namespace, claim })
}

/**
 * The snapshots in the cluster that the backup took. None where the server may not see any: it could not have taken one. Throws KubeErrors,
 * and the signal's reason.
 */
export async function snapshotsOfBackup(
  backupUid: string,
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<VolumeSnapshot[]> {
  const labelSelector = `${labelNames.backupUid}=${backupUid}`
  const labelled = await client
    .resource(VolumeSnapshotKind)
    .list({ labelSelector, signal })
    .toArray()
    .catch((error: unknown) => {
      if (isForbidden(error)) return []
      throw error
    })
  return labelled.filter(each => isSnapshotOf(each, backupUid))
}

import { type Backup, labelNames, validLabelValue } from '@lateen/api'
import { isAlreadyExists, type KubeClient } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { isSnapshotOf } from './backup-snapshots.ts'
import { claimSnapshotName } from './claim-snapshot-name.ts'
import { CsiError } from './csi-error.ts'
import { snapshotGroup, type VolumeSnapshot, VolumeSnapshotKind } from './snapshot-kinds.ts'

export interface SnapshotWanted {
  backup: Backup
  claim: ActionItem
  className: string
}

/**
 * Has a snapshot taken of a claim, or finds the one that the same backup had taken of it before. Waits for nothing. Throws KubeErrors, and
 * CsiError SNAPSHOT_NOT_OURS.
 */
export async function takeSnapshot(
  wanted: SnapshotWanted,
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<VolumeSnapshot> {
  const snapshot = newSnapshot(wanted)
  const { namespace, name = '' } = snapshot.metadata
  const snapshots = client.resource(VolumeSnapshotKind, namespace)
  try {
    return await snapshots.create(snapshot, { signal })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    const found = await snapshots.get(name, { signal })
    if (isSnapshotOf(found, wanted.backup.metadata.uid ?? '')) return found
    throw new CsiError('SNAPSHOT_NOT_OURS', {
      reason: `there is a VolumeSnapshot ${namespace}/${name} already that this backup has not made`,
      hint: 'Delete it, and back up again',
    })
  }
}

function newSnapshot({ backup, claim, className }: SnapshotWanted): VolumeSnapshot {
  const { uid: backupUid = '', name: backupName = '' } = backup.metadata
  const { namespace = '', name: claimName = '', labels } = claim.metadata
  return {
    apiVersion: `${snapshotGroup}/v1`,
    kind: 'VolumeSnapshot',
    metadata: {
      name: claimSnapshotName({ backupUid, namespace, claim: claimName }),
      namespace,
      labels: {
        ...labels,
        [labelNames.backupName]: validLabelValue(backupName),
        [labelNames.backupUid]: backupUid,
      },
    },
    spec: {
      source: { persistentVolumeClaimName: claimName },
      volumeSnapshotClassName: className,
    },
  }
}

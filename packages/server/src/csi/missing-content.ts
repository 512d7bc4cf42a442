import { labelNames, type Restore, validLabelValue } from '@lateen/api'
import { isAlreadyExists, type KubeClient } from '@lateen/kube'
import { isTakenByBackup, markedAsPair } from './restored-pair-mark.ts'
import {
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
} from './snapshot-kinds.ts'

/** A snapshot that is restored, and whose content is not in the backup. */
export interface SnapshotWithoutContent {
  restore: Restore
  /** As it was backed up. */
  snapshot: VolumeSnapshot
  driver: string
  handle: string
  className: string | undefined
  /** Where it goes. */
  namespace: string
  /** The name that both get. */
  name: string
}

/** Makes the content that stands for the snapshot in the storage, unless it is there. Throws KubeErrors. */
export async function createMissingContent(
  missing: SnapshotWithoutContent,
  { client, signal }: { client: KubeClient; signal?: AbortSignal | undefined },
): Promise<void> {
  const contents = client.resource(VolumeSnapshotContentKind)
  await contents.create(contentFor(missing), { signal }).catch(error => {
    if (!isAlreadyExists(error)) throw error
  })
}

function contentFor(missing: SnapshotWithoutContent): VolumeSnapshotContent {
  const { restore, snapshot, driver, handle, className, namespace, name } = missing
  const { group, version, kind } = VolumeSnapshotContentKind
  const labels = {
    [labelNames.backupName]: validLabelValue(restore.spec.backupName ?? ''),
    [labelNames.restoreName]: validLabelValue(restore.metadata.name ?? ''),
  }
  const metadata = { name, labels }
  const apiVersion = `${group}/${version}`
  return {
    ...{ apiVersion, kind },
    metadata: isTakenByBackup(snapshot.metadata, restore) ? markedAsPair(metadata, restore) : metadata,
    spec: {
      ...{ driver, deletionPolicy: 'Retain', source: { snapshotHandle: handle } },
      volumeSnapshotRef: { apiVersion, kind: 'VolumeSnapshot', namespace, name },
      ...(className !== undefined && { volumeSnapshotClassName: className }),
    },
  }
}

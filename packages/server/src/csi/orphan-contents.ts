import { type KubeClient, unlessNotFound } from '@lateen/kube'
import { claimSnapshotName } from './claim-snapshot-name.ts'
import { deleteContent, setPolicy } from './release-snapshot.ts'
import {
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from './snapshot-kinds.ts'

/** How `claimSnapshotName` builds names that it has not shortened. */
const form = /^velero-(.+)-[0-9a-f]{16}$/

/** Which of the backups took the snapshot of a content, by the name that the snapshot has; undefined when none of them did. */
export function takerOf({ spec }: VolumeSnapshotContent, backupUids: Iterable<string>): string | undefined {
  const { namespace = '', name = '' } = spec.volumeSnapshotRef
  const claim = form.exec(name)?.[1]
  if (claim === undefined) return undefined
  for (const backupUid of backupUids) {
    if (name === claimSnapshotName({ backupUid, namespace, claim })) return backupUid
  }
  return undefined
}

/** A content without its snapshot, which one of the backups took. */
export interface OrphanContent {
  content: VolumeSnapshotContent
  backupUid: string
}

/**
 * Contents of snapshots of the backups whose VolumeSnapshots are gone, as happens where a class retains contents and somebody deletes a VolumeSnapshot.
 * Throws KubeErrors, and the signal's reason.
 */
export async function orphanContents(
  backupUids: readonly string[],
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<OrphanContent[]> {
  const found: OrphanContent[] = []
  for await (const content of client.resource(VolumeSnapshotContentKind).list({ signal })) {
    if (content.metadata.deletionTimestamp !== undefined) continue
    const backupUid = takerOf(content, backupUids)
    if (backupUid === undefined) continue
    const { namespace, name = '', uid } = content.spec.volumeSnapshotRef
    const snapshot = await client
      .resource(VolumeSnapshotKind, namespace)
      .get(name, { signal })
      .catch(unlessNotFound)
    if (snapshot === undefined || snapshot.metadata.uid !== uid) found.push({ content, backupUid })
  }
  return found
}

/** Removes such a content, with the snapshot in the storage unless that is to be kept. Throws KubeErrors, and CsiError. */
export async function removeOrphan(
  content: VolumeSnapshotContent,
  keep: boolean,
  ports: { client: KubeClient; signal: AbortSignal },
): Promise<void> {
  await setPolicy(content, keep ? 'Retain' : 'Delete', ports)
  await deleteContent(content, ports)
}

import { builtInKind, type KubeClient, type KubeObject, noneIfUnseen, unlessNotFound } from '@lateen/kube'
import { claimSnapshotName } from './claim-snapshot-name.ts'
import { deleteContent, setPolicy } from './release-snapshot.ts'
import {
  type VolumeSnapshotContent,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from './snapshot-kinds.ts'

/** How `claimSnapshotName` builds names, with the claim or what there is room for. */
const form = /^velero-(.+)-[0-9a-f]{16}$/

/** A claim that has as many letters may have been shortened, and may have lost some more at its end. */
const SHORTENED_FROM = 30

/**
 * Which of the backups took the snapshot of a content, by the name that the snapshot has; undefined when none of them did. For names that may be
 * shortened the whole name of the claim is needed.
 */
export function takerOf(
  { spec }: VolumeSnapshotContent,
  backupUids: Iterable<string>,
  claim = claimIn(spec.volumeSnapshotRef.name),
): string | undefined {
  const { namespace = '', name = '' } = spec.volumeSnapshotRef
  if (claim === undefined) return undefined
  for (const backupUid of backupUids) {
    if (name === claimSnapshotName({ backupUid, namespace, claim })) return backupUid
  }
  return undefined
}

function claimIn(snapshot = ''): string | undefined {
  return form.exec(snapshot)?.[1]
}

/** Whether the name of a content's snapshot may be one of ours that does not tell its claim. */
export function mayBeShortened({ spec }: VolumeSnapshotContent): boolean {
  return (claimIn(spec.volumeSnapshotRef.name)?.length ?? 0) >= SHORTENED_FROM
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
  const shortened: VolumeSnapshotContent[] = []
  for await (const content of client.resource(VolumeSnapshotContentKind).list({ signal })) {
    if (content.metadata.deletionTimestamp !== undefined) continue
    const backupUid = takerOf(content, backupUids)
    if (backupUid === undefined && !mayBeShortened(content)) continue
    if (await hasSnapshot(content, { client, signal })) continue
    if (backupUid === undefined) shortened.push(content)
    else found.push({ content, backupUid })
  }
  return [...found, ...(await takenByVolume(shortened, backupUids, { client, signal }))]
}

/** Those of contents whose claims are known by their volumes. */
async function takenByVolume(
  contents: readonly VolumeSnapshotContent[],
  backupUids: readonly string[],
  ports: Ports,
): Promise<OrphanContent[]> {
  if (contents.length === 0) return []
  const claims = await claimsOfVolumes(ports)
  return contents.flatMap(content => {
    const claim = claims.get(volumeOf(content))
    const backupUid = claim && takerOf(content, backupUids, claim)
    return backupUid ? [{ content, backupUid }] : []
  })
}

interface Ports {
  client: KubeClient
  signal: AbortSignal
}

async function hasSnapshot({ spec }: VolumeSnapshotContent, { client, signal }: Ports): Promise<boolean> {
  const { namespace, name = '', uid } = spec.volumeSnapshotRef
  const snapshot = await client
    .resource(VolumeSnapshotKind, namespace)
    .get(name, { signal })
    .catch(unlessNotFound)
  return snapshot !== undefined && snapshot.metadata.uid === uid
}

interface Volume extends KubeObject {
  spec?: {
    csi?: { driver?: string; volumeHandle?: string }
    claimRef?: { name?: string }
  }
}

const VolumeKind = builtInKind<Volume>('PersistentVolume')

/** The claims that volumes are for, by driver and handle. None where volumes must not be seen. */
async function claimsOfVolumes({ client, signal }: Ports): Promise<ReadonlyMap<string, string>> {
  const volumes = await client.resource(VolumeKind).list({ signal }).toArray().catch(noneIfUnseen)
  const claims = new Map<string, string>()
  for (const { spec } of volumes) {
    const claim = spec?.claimRef?.name
    if (claim) claims.set(`${spec?.csi?.driver}/${spec?.csi?.volumeHandle}`, claim)
  }
  return claims
}

function volumeOf({ spec }: VolumeSnapshotContent): string {
  return `${spec.driver}/${spec.source.volumeHandle}`
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

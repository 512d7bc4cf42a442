import type { Backup } from '@lateen/api'
import type { KubeClient, ResourceType } from '@lateen/kube'
import type { ResourceIdentifier } from '@lateen/plugin'
import { type BackupGroup, groupsOfBackup, isMemberOf } from './backup-groups.ts'
import { snapshotsOfBackup } from './backup-snapshots.ts'
import { eachAtOnce } from './each-at-once.ts'
import { VolumeGroupSnapshotContentKind } from './group-snapshot-kinds.ts'
import { isGoing } from './is-going.ts'
import { isRefusal } from './is-refusal.ts'
import { type AnyContent, contentOf, setPolicyOf } from './release-snapshot.ts'
import {
  snapshotGroup,
  type VolumeSnapshot,
  VolumeSnapshotContentKind,
  VolumeSnapshotKind,
} from './snapshot-kinds.ts'

interface KeepPorts {
  client: KubeClient
  signal: AbortSignal
}

/**
 * Has the storage keep those of some snapshots that a backup took, whatever becomes of their objects from then on. Those of others are not touched, nor is
 * what is being deleted already: the driver would be told nothing any more, and the snapshot stay in the storage for good. One that cannot be kept is left as it is, and
 * met again by whoever removes its objects. May be repeated. Throws KubeErrors that repeating may help against, and the signal's reason.
 */
export async function keepSnapshots(
  backup: Pick<Backup, 'metadata'>,
  ids: readonly ResourceIdentifier[],
  ports: KeepPorts,
): Promise<void> {
  const wanted = new Set(ids.filter(isSnapshot).map(placeOf))
  if (wanted.size === 0) return
  const { signal } = ports
  const snapshots = (await snapshotsOfBackup(backup.metadata.uid ?? '', ports)).filter(
    each => wanted.has(placeOf(each.metadata)) && !isGoing(each),
  )
  const isGrouped = snapshots.some(({ status }) => status?.volumeGroupSnapshotName)
  const all = isGrouped ? await groupsOfBackup(backup, ports) : []
  const groups = all.filter(group => snapshots.some(snapshot => isMemberOf(snapshot, group)))
  const staying = groups.filter(({ group, content }) => !isGoing(group) && !isGoing(content))
  await eachAtOnce(staying, group => unlessRefused(keepGroup(group, ports), signal))
  const alone = snapshots.filter(snapshot => !groups.some(group => isMemberOf(snapshot, group)))
  await eachAtOnce(alone, snapshot => unlessRefused(keep(snapshot, ports), signal))
}

function isSnapshot({ group, resource }: ResourceIdentifier): boolean {
  return group === snapshotGroup && resource === VolumeSnapshotKind.plural
}

function placeOf({ namespace, name }: { namespace?: string; name?: string }): string {
  return `${namespace}/${name}`
}

async function keepGroup({ content, contents }: BackupGroup, ports: KeepPorts): Promise<void> {
  if (content !== undefined) await keepContent(content, VolumeGroupSnapshotContentKind, ports)
  for (const each of contents) await keepContent(each, VolumeSnapshotContentKind, ports)
}

async function keep(snapshot: VolumeSnapshot, ports: KeepPorts): Promise<void> {
  const content = await contentOf(snapshot, ports)
  if (content !== undefined) await keepContent(content, VolumeSnapshotContentKind, ports)
}

/** One that somebody has begun to delete meanwhile goes as it would have gone. */
async function keepContent<T extends AnyContent>(
  content: T,
  kind: ResourceType<T>,
  ports: KeepPorts,
): Promise<void> {
  if (isGoing(content)) return
  const now = await setPolicyOf(content, { kind, deletionPolicy: 'Retain' }, ports)
  if (now === undefined || !isGoing(now)) return
  await setPolicyOf(now, { kind, deletionPolicy: content.spec.deletionPolicy }, ports)
}

async function unlessRefused(setting: Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await setting
  } catch (error) {
    signal.throwIfAborted()
    if (!isRefusal(error)) throw error
  }
}

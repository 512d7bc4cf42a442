import type { Backup } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import type { ResourceIdentifier } from '@lateen/plugin'
import { groupsOfBackup, isMemberOf, setGroupPolicy } from './backup-groups.ts'
import { snapshotsOfBackup } from './backup-snapshots.ts'
import { eachAtOnce } from './each-at-once.ts'
import { isRefusal } from './is-refusal.ts'
import { contentOf, setPolicy } from './release-snapshot.ts'
import { snapshotGroup, type VolumeSnapshot, VolumeSnapshotKind } from './snapshot-kinds.ts'

/**
 * Has the storage keep those of some snapshots that a backup took, whatever becomes of their objects from then on. Those of others are not touched. One that
 * cannot be kept is left as it is, and met again by whoever removes its objects. May be repeated. Throws KubeErrors that repeating may help against, and the signal's reason.
 */
export async function keepSnapshots(
  backup: Pick<Backup, 'metadata'>,
  ids: readonly ResourceIdentifier[],
  ports: { client: KubeClient; signal: AbortSignal },
): Promise<void> {
  const wanted = new Set(ids.filter(isSnapshot).map(placeOf))
  if (wanted.size === 0) return
  const { signal } = ports
  const snapshots = (await snapshotsOfBackup(backup.metadata.uid ?? '', ports)).filter(({ metadata }) =>
    wanted.has(placeOf(metadata)),
  )
  const isGrouped = snapshots.some(({ status }) => status?.volumeGroupSnapshotName)
  const all = isGrouped ? await groupsOfBackup(backup, ports) : []
  const groups = all.filter(group => snapshots.some(snapshot => isMemberOf(snapshot, group)))
  await eachAtOnce(groups, group => unlessRefused(setGroupPolicy(group, 'Retain', ports), signal))
  const alone = snapshots.filter(snapshot => !groups.some(group => isMemberOf(snapshot, group)))
  await eachAtOnce(alone, snapshot => unlessRefused(keep(snapshot, ports), signal))
}

function isSnapshot({ group, resource }: ResourceIdentifier): boolean {
  return group === snapshotGroup && resource === VolumeSnapshotKind.plural
}

function placeOf({ namespace, name }: { namespace?: string; name?: string }): string {
  return `${namespace}/${name}`
}

async function keep(
  snapshot: VolumeSnapshot,
  ports: { client: KubeClient; signal: AbortSignal },
): Promise<void> {
  const content = await contentOf(snapshot, ports)
  if (content !== undefined) await setPolicy(content, 'Retain', ports)
}

async function unlessRefused(setting: Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await setting
  } catch (error) {
    signal.throwIfAborted()
    if (!isRefusal(error)) throw error
  }
}

import type { Discovery, KubeObject, ResourceType } from '@lateen/kube'
import { VolumeGroupSnapshotKind } from './group-snapshot-kinds.ts'
import { VolumeSnapshotKind } from './snapshot-kinds.ts'

/** The feature under which Velero knows snapshots through CSI. */
export const csiFeature = 'EnableCSI'

/** Whether the cluster serves the kinds that snapshots are taken by, as far as discovery knows. Throws KubeErrors. */
export function isCsiServed(discovery: Discovery, signal?: AbortSignal): Promise<boolean> {
  return isServed(VolumeSnapshotKind, discovery, signal)
}

/** The same for those that groups of snapshots are taken by. */
export function areGroupsServed(discovery: Discovery, signal?: AbortSignal): Promise<boolean> {
  return isServed(VolumeGroupSnapshotKind, discovery, signal)
}

async function isServed(
  { group, version, plural }: ResourceType<KubeObject>,
  discovery: Discovery,
  signal?: AbortSignal,
): Promise<boolean> {
  const all = await discovery.all({ signal })
  return all.some(each => each.group === group && each.version === version && each.plural === plural)
}

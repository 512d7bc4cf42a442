import type { Discovery } from '@lateen/kube'
import { VolumeSnapshotKind } from './snapshot-kinds.ts'

/** The feature under which Velero knows snapshots through CSI. */
export const csiFeature = 'EnableCSI'

/** Whether the cluster serves the kinds that snapshots are taken by, as far as discovery knows. Throws KubeErrors. */
export async function isCsiServed(discovery: Discovery, signal?: AbortSignal): Promise<boolean> {
  const { group, version, plural } = VolumeSnapshotKind
  const all = await discovery.all({ signal })
  return all.some(each => each.group === group && each.version === version && each.plural === plural)
}

import { annotationNames } from '@lateen/api'
import type { CallOptions, ResourceType, Unstructured } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { snapshotGroup, type VolumeSnapshot, VolumeSnapshotKind } from '../../csi/snapshot-kinds.ts'
import { parseQuantity } from '../../filters/policies/quantity.ts'
import { claimType } from '../items/core-types.ts'
import type { RestoreSink } from '../sink/sink.ts'
import type { RestoreVolumeInfo } from './volume-restore.ts'

/** A claim, as far as it matters here. */
interface Claim extends ActionItem {
  spec?: { volumeName?: string; dataSource?: { apiGroup?: string; kind?: string; name?: string } }
  status?: { phase?: string }
}

const { group, version, kind, plural, namespaced } = VolumeSnapshotKind
const snapshotType: ResourceType<Unstructured> = { group, version, kind, plural, namespaced }

/** The snapshot that a claim is made from; undefined when it is made from none. */
export function snapshotSourceOf(claim: ActionItem): string | undefined {
  const { apiGroup, kind, name } = (claim as Claim).spec?.dataSource ?? {}
  return apiGroup === snapshotGroup && kind === 'VolumeSnapshot' ? name : undefined
}

/** What the restore's volume info says of a claim that was restored from a snapshot, as Velero writes it. */
export async function csiRestoreInfo(
  { namespace, name }: { namespace: string; name: string },
  sink: RestoreSink,
  options: CallOptions,
): Promise<RestoreVolumeInfo | undefined> {
  const claim = (await sink.read({ type: claimType, namespace, name }, options)) as Claim | undefined
  const source = claim && snapshotSourceOf(claim)
  if (source === undefined) return undefined
  const found: unknown = await sink.read({ type: snapshotType, namespace, name: source }, options)
  if (found === undefined) return undefined
  const { metadata, spec, status } = found as VolumeSnapshot
  const annotation = (name: string) => metadata.annotations?.[name] ?? ''
  const size = status?.restoreSize ?? annotation(annotationNames.volumeSnapshotRestoreSize)
  const isBound = claim?.status?.phase === 'Bound' && claim.spec?.volumeName
  return {
    pvcName: name,
    pvcNamespace: namespace,
    ...(isBound && { pvName: claim.spec?.volumeName ?? '' }),
    restoreMethod: 'CSISnapshot',
    snapshotDataMoved: false,
    csiSnapshotInfo: {
      snapshotHandle: annotation(annotationNames.volumeSnapshotHandle),
      size: Number((parseQuantity(size) ?? 0n) / 1_000_000_000n),
      driver: annotation(annotationNames.csiDriverName),
      vscName: spec.source.volumeSnapshotContentName ?? '',
      // Velero writes this key, and nothing into it.
      ReadyToUse: null,
    },
  }
}

import type { KubeObject } from '@lateen/kube'
import { snapshotGroup, type VolumeSnapshot, type VolumeSnapshotContent } from './snapshot-kinds.ts'

/** A VolumeSnapshot and its content that a restore made so that a volume can be filled from them; one of them may be gone. */
export interface RestoredPair {
  /** Of both. */
  readonly name: string
  /** Of the snapshot. */
  readonly namespace: string
  readonly restoreUid: string
  /** `namespace/name` of the restore. */
  readonly restoredBy: string
  readonly snapshot?: VolumeSnapshot | undefined
  readonly content?: VolumeSnapshotContent | undefined
}

interface Source {
  apiGroup?: string
  kind?: string
  name?: string
}

/** A claim, as far as it may be filled from a snapshot. */
export interface ClaimToFill extends KubeObject {
  spec?: { storageClassName?: string; dataSource?: Source | null; dataSourceRef?: Source | null }
  status?: { phase?: string }
}

/** Why a claim has no volume yet, as far as the snapshot tells. */
export function whyUnfilled({ snapshot, content }: Pick<RestoredPair, 'snapshot' | 'content'>): string {
  if (content === undefined) return 'the content of its snapshot is gone'
  if (snapshot === undefined) return 'its snapshot is gone'
  const fault = content.status?.error?.message ?? snapshot.status?.error?.message
  if (fault) return `its snapshot cannot be used: ${fault}`
  return snapshot.status?.readyToUse ? 'no volume was made of its snapshot yet' : 'its snapshot is not ready'
}

/**
 * The claim that still needs a pair, of those in its namespace: one that is made from it and has no volume yet, for whatever reason. A pair that no claim
 * needs has no use once its restore creates no more claims.
 */
export function claimInNeed<C extends ClaimToFill>(
  { name }: Pick<RestoredPair, 'name'>,
  claims: readonly C[],
): C | undefined {
  return claims.find(({ spec, status }) => {
    const isPending = status?.phase !== 'Bound' && status?.phase !== 'Lost'
    return isPending && [spec?.dataSource, spec?.dataSourceRef].some(source => isSnapshot(source, name))
  })
}

function isSnapshot(source: Source | null | undefined, name: string): boolean {
  return source?.apiGroup === snapshotGroup && source.kind === 'VolumeSnapshot' && source.name === name
}

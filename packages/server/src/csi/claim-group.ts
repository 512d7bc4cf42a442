import { createHash } from 'node:crypto'
import type { Backup } from '@lateen/api'
import type { KubeObject } from '@lateen/kube'

/** Claims that are snapshotted at one instant: those of a namespace with one value of a label. */
export interface ClaimGroup {
  namespace: string
  label: string
  value: string
}

/** The group that a claim is in, as the backup sees it; undefined when it is in none. */
export function groupOfClaim(
  { spec }: Pick<Backup, 'spec'>,
  { metadata }: Pick<KubeObject, 'metadata'>,
): ClaimGroup | undefined {
  const label = spec.volumeGroupSnapshotLabelKey ?? ''
  const value = label === '' ? '' : (metadata.labels?.[label] ?? '')
  return value === '' ? undefined : { namespace: metadata.namespace ?? '', label, value }
}

/** The name of the VolumeGroupSnapshot that a backup makes of a group: the same whenever it is asked for. */
export function groupSnapshotName(backupUid: string, { namespace, label, value }: ClaimGroup): string {
  const hash = createHash('sha256').update(`${backupUid}/${namespace}/${label}=${value}`).digest('hex')
  // The value of a label may have letters that no name may have.
  const readable = value
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 30)
  return `velero-${readable.replaceAll(/^-|-$/g, '') || 'group'}-${hash.slice(0, 16)}`
}

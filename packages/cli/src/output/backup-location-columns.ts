import type { BackupStorageLocation } from '@lateen/api'
import { goTime } from './go-time.ts'
import type { Column } from './table.ts'

/** Velero's table of backup storage locations. */
export const backupLocationColumns: readonly Column[] = [
  { header: 'NAME', cell: (location: BackupStorageLocation) => location.metadata.name ?? '' },
  { header: 'PROVIDER', cell: (location: BackupStorageLocation) => location.spec.provider },
  { header: 'BUCKET/PREFIX', cell: bucketAndPrefix },
  { header: 'PHASE', cell: (location: BackupStorageLocation) => location.status?.phase || 'Unknown' },
  { header: 'LAST VALIDATED', cell: lastValidated },
  {
    header: 'ACCESS MODE',
    cell: (location: BackupStorageLocation) => location.spec.accessMode || 'ReadWrite',
  },
  { header: 'DEFAULT', cell: (location: BackupStorageLocation) => (location.spec.default ? 'true' : '') },
]

function bucketAndPrefix({ spec }: BackupStorageLocation): string {
  const { bucket, prefix } = spec.objectStorage
  return prefix ? `${bucket}/${prefix}` : bucket
}

function lastValidated({ status }: BackupStorageLocation): string {
  return status?.lastValidationTime ? goTime(status.lastValidationTime) : 'Unknown'
}

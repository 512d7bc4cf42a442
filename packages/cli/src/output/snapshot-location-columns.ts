import type { VolumeSnapshotLocation } from '@lateen/api'
import type { Column } from './table.ts'

/** Velero's table of volume snapshot locations. */
export const snapshotLocationColumns: readonly Column[] = [
  { header: 'NAME', cell: ({ metadata }: VolumeSnapshotLocation) => metadata.name ?? '' },
  { header: 'PROVIDER', cell: ({ spec }: VolumeSnapshotLocation) => spec.provider },
]

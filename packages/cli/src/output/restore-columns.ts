import type { Restore } from '@lateen/api'
import { formatLabelSelector } from '../parse/label-selector.ts'
import { goTime, ZERO_TIME } from './go-time.ts'
import type { Column } from './table.ts'

/** Velero's table of restores. */
export const restoreColumns: readonly Column[] = [
  { header: 'NAME', cell: ({ metadata }: Restore) => metadata.name ?? '' },
  { header: 'BACKUP', cell: ({ spec }: Restore) => spec.backupName ?? '' },
  { header: 'STATUS', cell: statusOf },
  { header: 'STARTED', cell: ({ status }: Restore) => timeOr('<nil>', status?.startTimestamp) },
  { header: 'COMPLETED', cell: ({ status }: Restore) => timeOr('<nil>', status?.completionTimestamp) },
  { header: 'ERRORS', cell: ({ status }: Restore) => String(status?.errors ?? 0) },
  { header: 'WARNINGS', cell: ({ status }: Restore) => String(status?.warnings ?? 0) },
  { header: 'CREATED', cell: ({ metadata }: Restore) => timeOr(ZERO_TIME, metadata.creationTimestamp) },
  { header: 'SELECTOR', cell: ({ spec }: Restore) => formatLabelSelector(spec.labelSelector) },
]

function statusOf({ metadata, status }: Restore): string {
  const phase = status?.phase || 'New'
  return metadata.deletionTimestamp ? `${phase} (Deleting)` : phase
}

function timeOr(missing: string, time: string | null | undefined): string {
  return time ? goTime(time) : missing
}

import type { Restore } from '@lateen/api'
import { formatLabelSelector } from '../parse/label-selector.ts'
import { goTime } from './go-time.ts'
import type { Column } from './table.ts'

/** What Go shows for a time that nobody has set. */
const ZERO_TIME = '0001-01-01 00:00:00 +0000 UTC'

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

import { parseTime, type Schedule } from '@lateen/api'
import { goDuration } from '../describe/describe-spec.ts'
import { formatLabelSelector } from '../parse/label-selector.ts'
import { goTime, ZERO_TIME } from './go-time.ts'
import { fromNow } from './human-duration.ts'
import type { Column } from './table.ts'

/** Velero's table of schedules; `now` (milliseconds since the epoch) is what LAST BACKUP is seen from. */
export function scheduleColumns(now: number): Column[] {
  const lastBackup = ({ status }: Schedule) =>
    status?.lastBackup ? fromNow(parseTime(status.lastBackup), now) : 'n/a'
  return [
    { header: 'NAME', cell: ({ metadata }: Schedule) => metadata.name ?? '' },
    { header: 'STATUS', cell: ({ status }: Schedule) => status?.phase || 'New' },
    {
      header: 'CREATED',
      cell: ({ metadata }: Schedule) =>
        metadata.creationTimestamp ? goTime(metadata.creationTimestamp) : ZERO_TIME,
    },
    { header: 'SCHEDULE', cell: ({ spec }: Schedule) => spec.schedule },
    { header: 'BACKUP TTL', cell: ({ spec }: Schedule) => goDuration(spec.template.ttl) },
    { header: 'LAST BACKUP', cell: lastBackup },
    {
      header: 'SELECTOR',
      cell: ({ spec }: Schedule) => formatLabelSelector(spec.template.labelSelector),
    },
    { header: 'PAUSED', cell: ({ spec }: Schedule) => String(spec.paused ?? false) },
  ]
}

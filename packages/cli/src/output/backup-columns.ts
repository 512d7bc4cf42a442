import { type Backup, parseTime } from '@lateen/api'
import { parseDuration } from '../parse/duration.ts'
import { formatLabelSelector } from '../parse/label-selector.ts'
import { goTime } from './go-time.ts'
import { fromNow } from './human-duration.ts'
import type { Column } from './table.ts'

/** Velero's table of backups; `now` (milliseconds since the epoch) is what EXPIRES is seen from. */
export function backupColumns(now: number): Column[] {
  return [
    { header: 'NAME', cell: ({ metadata }: Backup) => metadata.name ?? '' },
    { header: 'STATUS', cell: statusOf },
    { header: 'ERRORS', cell: ({ status }: Backup) => String(status?.errors ?? 0) },
    { header: 'WARNINGS', cell: ({ status }: Backup) => String(status?.warnings ?? 0) },
    {
      header: 'CREATED',
      cell: ({ status }: Backup) => (status?.startTimestamp ? goTime(status.startTimestamp) : '<nil>'),
    },
    { header: 'EXPIRES', cell: (backup: Backup) => expiryOf(backup, now) },
    { header: 'STORAGE LOCATION', cell: ({ spec }: Backup) => spec.storageLocation ?? '' },
    { header: 'QUEUE POSITION', cell: ({ status }: Backup) => String(status?.queuePosition || '') },
    { header: 'SELECTOR', cell: ({ spec }: Backup) => formatLabelSelector(spec.labelSelector) },
  ]
}

function statusOf({ metadata, status }: Backup): string {
  return metadata.deletionTimestamp ? 'Deleting' : status?.phase || 'New'
}

/** When the server has not said yet, from the time to live. */
function expiryOf({ metadata, spec, status }: Backup, now: number): string {
  if (status?.expiration) return fromNow(parseTime(status.expiration), now)
  const ttl = parseDuration(spec.ttl ?? '')?.milliseconds ?? 0
  if (ttl <= 0 || !metadata.creationTimestamp) return 'n/a'
  return fromNow(parseTime(metadata.creationTimestamp) + ttl, now)
}

const timestamp = /-\d{14}$/

/** By name; backups of one schedule, which end in 14 digits, newest first. */
export function sortedBackups(backups: readonly Backup[]): Backup[] {
  return backups.toSorted((a, b) => {
    const [one, other] = [a.metadata.name ?? '', b.metadata.name ?? '']
    const sameSchedule =
      timestamp.test(one) && timestamp.test(other) && one.slice(0, -15) === other.slice(0, -15)
    if (one === other) return 0
    return one < other === sameSchedule ? 1 : -1
  })
}

import type { BackupRepository } from '@lateen/api'
import { goTime } from './go-time.ts'
import type { Column } from './table.ts'

/** Velero's table of repositories. */
export const repositoryColumns: readonly Column[] = [
  { header: 'NAME', cell: ({ metadata }: BackupRepository) => metadata.name ?? '' },
  { header: 'STATUS', cell: ({ status }: BackupRepository) => status?.phase || 'New' },
  {
    header: 'LAST MAINTENANCE',
    cell: ({ status }: BackupRepository) =>
      status?.lastMaintenanceTime ? goTime(status.lastMaintenanceTime) : '<never>',
  },
]

import { emptyPolicy, type Policy } from '../../snapshot/policy.ts'

const keepAll = 2 ** 31 - 1

/**
 * The policy that Velero stores for a volume before each backup: no retention of Kopia's own, no compression,
 * no schedule.
 */
export function veleroPolicy({ parallelFiles }: { parallelFiles: number }): Policy {
  return {
    ...emptyPolicy(),
    retention: {
      keepLatest: keepAll,
      keepHourly: keepAll,
      keepDaily: keepAll,
      keepWeekly: keepAll,
      keepMonthly: keepAll,
      keepAnnual: keepAll,
    },
    errorHandling: { ignoreUnknownTypes: true },
    scheduling: { manual: true },
    compression: { compressorName: 'none' },
    upload: { maxParallelFileReads: parallelFiles, parallelUploadAboveSize: 2 ** 31 },
  }
}

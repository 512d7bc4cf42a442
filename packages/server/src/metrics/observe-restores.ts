import { type Restore, validLabelValue } from '@lateen/api'
import type { ObjectHandler } from '@lateen/kube'
import { type ObserveOptions, secondsTaken } from './observe-backups.ts'
import type { Counter } from './registry.ts'
import { countsOfRestore, type RestoreResult } from './restore-counts.ts'
import type { VeleroMetrics } from './velero-metrics.ts'

/** Counts what happens to restores. */
export function observeRestores({ velero, own, isLeading }: ObserveOptions): ObjectHandler<Restore> {
  return event => {
    if (event.type !== 'updated' || !isLeading()) return
    const { object: restore } = event
    const schedule = validLabelValue(restore.spec.scheduleName ?? '')
    const { attempt, result, items } = countsOfRestore(event.previous, restore)
    own.restoreItems.add({}, items)
    if (attempt) velero.restoreAttempts.add({ schedule })
    if (result === undefined) return
    counterOf(velero, result).add({ schedule })
    const seconds = secondsTaken(restore.status)
    if (seconds !== undefined) own.restoreDuration.observe({ schedule }, seconds)
  }
}

function counterOf(velero: VeleroMetrics, result: RestoreResult): Counter<'schedule'> {
  switch (result) {
    case 'success':
      return velero.restoreSuccesses
    case 'partial failure':
      return velero.restorePartialFailures
    case 'failure':
      return velero.restoreFailures
    case 'validation failure':
      return velero.restoreValidationFailures
  }
}

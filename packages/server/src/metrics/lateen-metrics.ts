import { counter, gauge, histogram } from './family.ts'
import type { MetricsRegistry } from './registry.ts'
import { longDurations } from './velero-metrics.ts'

/** In seconds: what takes milliseconds, and what takes hours. */
const shortDurations = [0.005, 0.025, 0.1, 0.5, 1, 5, 10, 30, 60]
const anyDurations = [0.1, 1, 5, 15, 60, 300, 900, 3600, 14_400]

/** The metrics of the server that Velero does not have. No label holds the name of a backup. */
export type LateenMetrics = ReturnType<typeof registerLateenMetrics>

/** Throws when one of the names is taken. */
export function registerLateenMetrics(registry: MetricsRegistry) {
  return {
    ...registerWorkMetrics(registry),
    ...registerControllerMetrics(registry),
    ...registerRequestMetrics(registry),
  }
}

function registerWorkMetrics(registry: MetricsRegistry) {
  return {
    backups: registry.gauge(gauge('lateen_backups', 'Backups by the phase they are in', ['phase'])),
    restores: registry.gauge(gauge('lateen_restores', 'Restores by the phase they are in', ['phase'])),
    backupItems: registry.counter(
      counter('lateen_backup_processed_items_total', 'Objects that backups have written'),
    ),
    restoreItems: registry.counter(
      counter('lateen_restore_processed_items_total', 'Objects that restores have worked on'),
    ),
    restoreDuration: registry.histogram(
      histogram({
        name: 'lateen_restore_duration_seconds',
        help: 'Time from the beginning of a restore to its end',
        labels: ['schedule'],
        buckets: longDurations,
      }),
    ),
    phaseSeconds: registry.histogram(
      histogram({
        name: 'lateen_phase_duration_seconds',
        help: 'Time that backups and restores spent in a phase that they have left',
        labels: ['kind', 'phase'],
        buckets: anyDurations,
      }),
    ),
  }
}

function registerControllerMetrics(registry: MetricsRegistry) {
  const labels = ['controller'] as const
  return {
    queueDepth: registry.gauge(gauge('lateen_workqueue_depth', 'Keys that wait for a controller', labels)),
    queueAdds: registry.counter(
      counter('lateen_workqueue_adds_total', 'Keys that were given to a controller', labels),
    ),
    queueRetries: registry.counter(
      counter('lateen_workqueue_retries_total', 'Keys that will be tried again after a failure', labels),
    ),
    queueSeconds: registry.histogram(
      histogram({
        name: 'lateen_workqueue_wait_seconds',
        help: 'Time that keys waited until a controller began with them',
        labels,
        buckets: shortDurations,
      }),
    ),
    reconciles: registry.counter(
      counter('lateen_reconcile_total', 'Reconciles by how they ended', ['controller', 'result']),
    ),
    reconcileSeconds: registry.histogram(
      histogram({
        name: 'lateen_reconcile_duration_seconds',
        help: 'Time that reconciles took',
        labels,
        buckets: anyDurations,
      }),
    ),
  }
}

function registerRequestMetrics(registry: MetricsRegistry) {
  return {
    apiRequests: registry.counter(
      counter('lateen_api_requests_total', 'Requests to the API server, each attempt by itself', [
        'verb',
        'code',
      ]),
    ),
    apiSeconds: registry.histogram(
      histogram({
        name: 'lateen_api_request_duration_seconds',
        help: 'Time until the head of the answer of the API server was there',
        labels: ['verb'],
        buckets: shortDurations,
      }),
    ),
    storeRequests: registry.counter(
      counter('lateen_object_store_requests_total', 'Calls of object stores by how they ended', [
        ...(['provider', 'operation', 'result'] as const),
      ]),
    ),
    storeSeconds: registry.histogram(
      histogram({
        name: 'lateen_object_store_duration_seconds',
        help: 'Time that calls of object stores took, to the last byte written or the first one read',
        labels: ['provider', 'operation'],
        buckets: shortDurations,
      }),
    ),
    storeBytes: registry.counter(
      counter('lateen_object_store_bytes_total', 'Bytes read from object stores and written to them', [
        ...(['provider', 'direction'] as const),
      ]),
    ),
  }
}

import { counter, gauge, histogram } from './family.ts'
import type { MetricsRegistry } from './registry.ts'
import { longDurations } from './velero-metrics.ts'

/** The metrics of Velero 1.18's node agent: its names, labels, help and bounds. */
export type PodVolumeMetrics = ReturnType<typeof registerPodVolumeMetrics>

/** Throws when one of the names is taken. */
export function registerPodVolumeMetrics(registry: MetricsRegistry) {
  const count = (name: string, help: string) =>
    registry.counter(counter(`podVolume_${name}`, `Total number of ${help}`, ['node']))
  const labels = ['node', 'operation', 'backupName', 'pod_volume_backup'] as const
  return {
    enqueued: count('pod_volume_backup_enqueue_count', 'pod_volume_backup objects enqueued'),
    dequeued: count('pod_volume_backup_dequeue_count', 'pod_volume_backup objects dequeued'),
    operationSeconds: registry.histogram(
      histogram({
        name: 'podVolume_pod_volume_operation_latency_seconds',
        help: 'Time taken to complete pod volume operations, in seconds',
        labels,
        buckets: longDurations,
      }),
    ),
    lastOperationSeconds: registry.gauge(
      gauge(
        'podVolume_pod_volume_operation_latency_seconds_gauge',
        'Gauge metric indicating time taken, in seconds, to perform pod volume operations',
        labels,
      ),
    ),
    uploadSuccesses: count('data_upload_success_total', 'successful uploaded snapshots'),
    uploadFailures: count('data_upload_failure_total', 'failed uploaded snapshots'),
    uploadCancels: count('data_upload_cancel_total', 'canceled uploaded snapshots'),
    downloadSuccesses: count('data_download_success_total', 'successful downloaded snapshots'),
    downloadFailures: count('data_download_failure_total', 'failed downloaded snapshots'),
    downloadCancels: count('data_download_cancel_total', 'canceled downloaded snapshots'),
  }
}

/** Makes the series visible that Velero shows before anything has happened. */
export function beginNode(metrics: PodVolumeMetrics, node: string): void {
  const { operationSeconds: _, lastOperationSeconds: __, ...counters } = metrics
  for (const each of Object.values(counters)) each.add({ node }, 0)
}

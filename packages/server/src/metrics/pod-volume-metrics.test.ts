import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { beginNode, registerPodVolumeMetrics } from './pod-volume-metrics.ts'
import { createMetricsRegistry } from './registry.ts'

const ofOperation = 'node,operation,backupName,pod_volume_backup'

describe('metrics of the node agent', () => {
  it('are those of Velero', () => {
    const registry = createMetricsRegistry()
    registerPodVolumeMetrics(registry)
    const families = registry.families.filter(({ name }) => name.startsWith('podVolume_'))
    assert.deepEqual(
      new Set(families.map(({ name, type, labels }) => `${name} ${type} ${labels}`)),
      new Set([
        'podVolume_pod_volume_backup_enqueue_count counter node',
        'podVolume_pod_volume_backup_dequeue_count counter node',
        `podVolume_pod_volume_operation_latency_seconds histogram ${ofOperation}`,
        `podVolume_pod_volume_operation_latency_seconds_gauge gauge ${ofOperation}`,
        'podVolume_data_upload_success_total counter node',
        'podVolume_data_upload_failure_total counter node',
        'podVolume_data_upload_cancel_total counter node',
        'podVolume_data_download_success_total counter node',
        'podVolume_data_download_failure_total counter node',
        'podVolume_data_download_cancel_total counter node',
      ]),
    )
  })

  it('begin at zero for the node', () => {
    const registry = createMetricsRegistry()
    beginNode(registerPodVolumeMetrics(registry), 'worker')
    const samples = registry.render().match(/^podVolume_\w+\{node="worker"\} 0$/gm) ?? []
    assert.equal(samples.length, 8)
  })
})

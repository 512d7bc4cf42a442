import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLocationStatusGauge } from './location-status-gauge.ts'
import { createMetricsRegistry } from './registry.ts'
import { registerVeleroMetrics } from './velero-metrics.ts'

describe('the gauge of location status', () => {
  it('shows 1 for available locations, 0 for others, and forgets removed ones', () => {
    const registry = createMetricsRegistry()
    const gauge = createLocationStatusGauge(registerVeleroMetrics(registry))
    const shown = () =>
      registry
        .render()
        .split('\n')
        .filter(line => line.startsWith('velero_backup_location_status_gauge'))
    assert.deepEqual(shown(), [])
    gauge.set('a', true)
    gauge.set('b', false)
    gauge.set('c', true)
    gauge.remove('c')
    assert.deepEqual(shown(), [
      'velero_backup_location_status_gauge{backup_location_name="a"} 1',
      'velero_backup_location_status_gauge{backup_location_name="b"} 0',
    ])
    gauge.set('b', true)
    assert.match(registry.render(), /name="b"\} 1/)
  })
})

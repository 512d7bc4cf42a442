import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLocationStatusGauge } from './location-status-gauge.ts'

describe('the gauge of location status', () => {
  it('is silent without locations', () => {
    assert.equal(createLocationStatusGauge().render(), '')
  })

  it('shows 1 for available locations, 0 for others, and forgets removed ones', () => {
    const gauge = createLocationStatusGauge()
    gauge.set('a', true)
    gauge.set('b', false)
    gauge.set('c', true)
    gauge.remove('c')
    const lines = gauge.render().split('\n')
    assert.ok(lines.includes('# TYPE velero_backup_location_status_gauge gauge'))
    assert.deepEqual(
      lines.filter(line => line !== '' && !line.startsWith('#')),
      [
        'velero_backup_location_status_gauge{backup_location_name="a"} 1',
        'velero_backup_location_status_gauge{backup_location_name="b"} 0',
      ],
    )
    gauge.set('b', true)
    assert.match(gauge.render(), /name="b"\} 1/)
  })
})

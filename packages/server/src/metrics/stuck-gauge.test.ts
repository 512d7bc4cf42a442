import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMetricsRegistry } from './registry.ts'
import { createStuckGauge } from './stuck-gauge.ts'

const lines = (text: string) => text.split('\n').filter(line => line.startsWith('lateen_stuck_objects'))

describe('the gauge of stuck objects', () => {
  it('adds up the parts, and goes back to 0', () => {
    const registry = createMetricsRegistry()
    const gauge = createStuckGauge(registry)
    assert.deepEqual(lines(registry.render()), [])
    const backup = { kind: 'Backup', phase: 'New' }
    gauge.set('objects', [backup, backup, { kind: 'Restore', phase: 'Finalizing' }])
    gauge.set('here', [{ kind: 'BucketFolder', phase: 'a"b' }])
    gauge.set('there', [{ kind: 'BucketFolder', phase: 'a"b' }])
    assert.deepEqual(lines(registry.render()), [
      'lateen_stuck_objects{kind="Backup",phase="New"} 2',
      'lateen_stuck_objects{kind="Restore",phase="Finalizing"} 1',
      'lateen_stuck_objects{kind="BucketFolder",phase="a\\"b"} 2',
    ])
    gauge.set('objects', [backup])
    gauge.set('there', [])
    assert.deepEqual(lines(registry.render()), [
      'lateen_stuck_objects{kind="Backup",phase="New"} 1',
      'lateen_stuck_objects{kind="Restore",phase="Finalizing"} 0',
      'lateen_stuck_objects{kind="BucketFolder",phase="a\\"b"} 1',
    ])
  })
})

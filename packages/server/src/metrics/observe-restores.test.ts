import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Restore, RestorePhase } from '@lateen/api'
import { registerLateenMetrics } from './lateen-metrics.ts'
import { observeRestores } from './observe-restores.ts'
import { createMetricsRegistry } from './registry.ts'
import { registerVeleroMetrics } from './velero-metrics.ts'

const restore = (phase: RestorePhase | undefined, scheduleName?: string): Restore => ({
  apiVersion: 'velero.io/v1',
  kind: 'Restore',
  metadata: { name: 'one', namespace: 'ns' },
  spec: { backupName: 'b', ...(scheduleName !== undefined && { scheduleName }) },
  status: {
    ...(phase && { phase }),
    startTimestamp: '2026-01-01T00:00:00Z',
    completionTimestamp: '2026-01-01T00:01:30Z',
    progress: { itemsRestored: phase === undefined ? 0 : 4, totalItems: 4 },
  },
})

/** What is shown after a restore went through these phases. */
function shownAfter(phases: (RestorePhase | undefined)[], scheduleName?: string): string[] {
  const registry = createMetricsRegistry()
  const velero = registerVeleroMetrics(registry)
  const see = observeRestores({ velero, own: registerLateenMetrics(registry), isLeading: () => true })
  const states = phases.map(phase => restore(phase, phase === undefined ? undefined : scheduleName))
  for (const [index, object] of states.slice(1).entries()) {
    see({ type: 'updated', previous: states[index] ?? object, object })
  }
  const lines = registry.render().split('\n')
  return lines.filter(line => /^(velero_restore_\w+\{|lateen_restore_\w+(_sum|items_total))/.test(line))
}

describe('observeRestores', () => {
  it('counts a restore once, for the schedule that its backup turned out to be of', () => {
    assert.deepEqual(
      shownAfter([undefined, 'New', 'InProgress', 'Finalizing', 'Completed', 'Completed'], 'nightly'),
      [
        'velero_restore_attempt_total{schedule="nightly"} 1',
        'velero_restore_success_total{schedule="nightly"} 1',
        'lateen_restore_processed_items_total 4',
        'lateen_restore_duration_seconds_sum{schedule="nightly"} 90',
      ],
    )
  })

  it('takes one that is not valid for an attempt, as Velero does', () => {
    const [attempt, refusal] = shownAfter(['New', 'FailedValidation'])
    assert.equal(attempt, 'velero_restore_attempt_total{schedule=""} 1')
    assert.equal(refusal, 'velero_restore_validation_failed_total{schedule=""} 1')
  })

  it('counts failures', () => {
    const failed = shownAfter(['InProgress', 'Failed'])
    assert.ok(failed.includes('velero_restore_failed_total{schedule=""} 1'), failed.join('\n'))
    const partly = shownAfter(['FinalizingPartiallyFailed', 'PartiallyFailed'])
    assert.ok(partly.includes('velero_restore_partial_failure_total{schedule=""} 1'), partly.join('\n'))
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keepsVolumes } from './live-pod.ts'
import type { Pod } from './mover-state.ts'

function pod(status: Pod['status'], isDeleted = false): Pod {
  const deleted = isDeleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', ...deleted }, ...(status && { status }) }
}

const running = [{ name: 'c', state: { running: {} } }]
const terminated = [{ name: 'c', state: { terminated: { exitCode: 0 } } }]

describe('keepsVolumes', () => {
  it('is true of a pod that runs, or waits for its volumes', () => {
    assert.ok(keepsVolumes(pod({ phase: 'Running', containerStatuses: running })))
    assert.ok(keepsVolumes(pod({ phase: 'Pending', initContainerStatuses: running })))
    assert.ok(keepsVolumes(pod({ phase: 'Pending' })))
  })

  it('is true of one that is asked to stop until its containers have', () => {
    assert.ok(keepsVolumes(pod({ phase: 'Running', containerStatuses: running }, true)))
    assert.ok(!keepsVolumes(pod({ phase: 'Running', containerStatuses: terminated }, true)))
    assert.ok(!keepsVolumes(pod({ phase: 'Pending' }, true)))
  })

  it('is false of one that has ended, whose volumes the kubelet takes away', () => {
    assert.ok(!keepsVolumes(pod({ phase: 'Succeeded', containerStatuses: terminated })))
    assert.ok(!keepsVolumes(pod({ phase: 'Failed' })))
  })
})

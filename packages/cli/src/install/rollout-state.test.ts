import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Workload } from './installed-kinds.ts'
import { rolloutState } from './rollout-state.ts'

function deployment(status: Workload['status'], replicas = 1): Workload {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { generation: 2 },
    spec: { replicas },
    ...(status === undefined ? {} : { status }),
  }
}

const settled = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1 }

describe('rolloutState', () => {
  it('is done when all pods are new and available', () => {
    assert.equal(rolloutState(deployment(settled)).done, true)
    assert.equal(rolloutState(deployment(settled, 2)).done, false)
  })

  it('does not believe a status of an earlier template', () => {
    const state = rolloutState(deployment({ ...settled, observedGeneration: 1 }))
    assert.deepEqual([state.done, state.observed, state.ready], [false, false, 0])
  })

  it('waits until pods of the earlier template are gone', () => {
    assert.equal(rolloutState(deployment({ ...settled, replicas: 2 })).done, false)
    assert.equal(rolloutState(deployment({ ...settled, replicas: 2, updatedReplicas: 0 })).done, false)
  })

  it('tells why no pod can be made', () => {
    const conditions = [{ type: 'ReplicaFailure', status: 'True', message: 'pods "velero-" is forbidden' }]
    assert.equal(
      rolloutState(deployment({ ...settled, conditions })).complaint,
      'pods "velero-" is forbidden',
    )
    assert.equal(rolloutState(deployment(undefined)).done, false)
  })

  it('counts the pods of nodes', () => {
    const status = { observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3 }
    const daemons = { ...deployment({ ...status, numberAvailable: 2 }), kind: 'DaemonSet' }
    assert.deepEqual(rolloutState(daemons), { done: false, observed: true, ready: 2, wanted: 3 })
    assert.equal(rolloutState({ ...daemons, status: { ...daemons.status, numberAvailable: 3 } }).done, true)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { podTrouble, type StartingPod } from './pod-trouble.ts'

function pod(status: StartingPod['status'] & object): StartingPod {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'velero-1' }, status }
}

describe('podTrouble', () => {
  it('has nothing to say about a pod that is on its way, or runs', () => {
    const creating = [{ name: 'velero', state: { waiting: { reason: 'ContainerCreating' } } }]
    assert.equal(podTrouble(pod({ containerStatuses: creating })), undefined)
    assert.equal(
      podTrouble(pod({ containerStatuses: [{ name: 'velero', state: { running: {} } }] })),
      undefined,
    )
  })

  it('tells why no node takes it', () => {
    const message = '0/1 nodes are available:\n  persistentvolumeclaim "disk" not found.'
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]
    assert.deepEqual(podTrouble(pod({ conditions })), {
      pod: 'velero-1',
      reason: 'Unschedulable',
      message: '0/1 nodes are available: persistentvolumeclaim "disk" not found.',
    })
  })

  it('tells about an image of an init container', () => {
    const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x:1"' }
    const initContainerStatuses = [{ name: 'plugin', state: { waiting } }]
    const containerStatuses = [{ name: 'velero', state: { waiting: { reason: 'PodInitializing' } } }]
    assert.deepEqual(podTrouble(pod({ initContainerStatuses, containerStatuses })), {
      pod: 'velero-1',
      reason: 'ImagePullBackOff',
      message: 'Back-off pulling image "x:1"',
    })
  })

  it('names the container that crashes', () => {
    const state = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting' } }
    const lastState = { terminated: { exitCode: 3 } }
    assert.deepEqual(podTrouble(pod({ containerStatuses: [{ name: 'velero', state, lastState }] })), {
      pod: 'velero-1',
      reason: 'CrashLoopBackOff',
      message: 'container velero ended with exit code 3',
      ended: 'velero',
    })
  })

  it('does not take an init container that did its work for one that failed', () => {
    const initContainerStatuses = [{ name: 'plugin', state: { terminated: { exitCode: 0 } } }]
    assert.equal(podTrouble(pod({ initContainerStatuses })), undefined)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { diagnosePod, moverState, type Pod } from './mover-state.ts'

function pod(status: Pod['status']): Pod {
  const metadata = { namespace: 'velero', name: 'mover' }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: 'n1' }, ...(status && { status }) }
}

const lastWords = (status: Pod['status']) => {
  const state = moverState(pod(status))
  assert.equal(state.type, 'ended')
  return state.type === 'ended' ? state.lastWords : ''
}

describe('moverState', () => {
  it('takes the words of a mover as they are', () => {
    const terminated = { exitCode: 1, reason: 'Error', message: 'the repository is locked. Wait' }
    const containerStatuses = [{ name: 'm', state: { terminated } }]
    assert.equal(lastWords({ phase: 'Failed', containerStatuses }), 'the repository is locked. Wait')
  })

  it('says for a mover that could not speak what ended it, and what to do', () => {
    const killed = { exitCode: 137, reason: 'OOMKilled' }
    const words = lastWords({
      phase: 'Failed',
      containerStatuses: [{ name: 'm', state: { terminated: killed } }],
    })
    assert.match(words, /^OOMKilled \(exit code 137\).*podResources\.memoryLimit/)
    const withoutNews = { exitCode: 137, reason: 'Error' }
    const guess = lastWords({
      phase: 'Failed',
      containerStatuses: [{ name: 'm', state: { terminated: withoutNews } }],
    })
    assert.match(guess, /^Error \(exit code 137\)\. It was killed.*podResources\.memoryLimit/)
    const evicted = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }
    assert.match(lastWords(evicted), /^Evicted: The node was low on resource: memory\. .*podResources/)
    const rejected = { phase: 'Failed', reason: 'OutOfcpu', message: 'Pod was rejected' }
    assert.match(lastWords(rejected), /^OutOfcpu: Pod was rejected\. .*podResources/)
    assert.equal(lastWords({ phase: 'Failed' }), 'it ended without a word')
  })

  it('knows what will never run', () => {
    const waiting = { reason: 'ErrImageNeverPull', message: 'image "x" is not present' }
    const state = moverState(
      pod({ phase: 'Pending', containerStatuses: [{ name: 'm', state: { waiting } }] }),
    )
    assert.ok(state.type === 'broken')
    assert.match(state.reason, /^ErrImageNeverPull: image "x" is not present\. .*DaemonSet/)
    const creating = { reason: 'ContainerCreating' }
    const coming = pod({ phase: 'Pending', containerStatuses: [{ name: 'm', state: { waiting: creating } }] })
    assert.equal(moverState(coming).type, 'coming')
  })
})

describe('diagnosePod', () => {
  it('tells phase, node, what is waited for, conditions that do not hold, and events', () => {
    const conditions = [
      { type: 'PodScheduled', status: 'True' },
      { type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
    ]
    const containerStatuses = [{ name: 'm', state: { waiting: { reason: 'ContainerCreating' } } }]
    assert.equal(
      diagnosePod(pod({ phase: 'Pending', conditions, containerStatuses }), ['event FailedMount: gone']),
      'pod velero/mover is Pending on node n1; ContainerCreating; Ready: ContainersNotReady; event FailedMount: gone',
    )
    assert.equal(diagnosePod(undefined, []), 'the pod does not exist')
  })
})

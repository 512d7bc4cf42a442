import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RestoreExecHook } from './exec-hooks.ts'
import { byContainer, longestWaitMs, nextPodStep, type WatchedPod } from './next-pod-step.ts'

const hook = (container: string, more: Partial<RestoreExecHook> = {}): RestoreExecHook => ({
  source: 'spec',
  name: 'h',
  phase: 'post',
  index: 0,
  container,
  command: ['x'],
  onError: undefined,
  timeoutMs: 30_000,
  waitMs: undefined,
  waitForReady: false,
  ...more,
})

const pod = (status: WatchedPod['status'] = {}): WatchedPod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'db' },
  status,
})

const running = (name: string, ready: boolean) => ({ name, ready, state: { running: {} } })
const starting = (name: string) => ({ name, ready: false, state: {} })

describe('the hooks of a pod that is watched', () => {
  it('wait until a container runs, whichever is first', () => {
    const pending = byContainer([hook('main'), hook('side')])
    assert.deepEqual(nextPodStep(pod(), pending), { type: 'wait' })
    const containerStatuses = [starting('main'), running('side', false)]
    assert.deepEqual(nextPodStep(pod({ phase: 'Pending', containerStatuses }), pending), {
      type: 'run',
      container: 'side',
    })
  })

  it('wait until a container is ready where one of its hooks wants that', () => {
    const pending = byContainer([hook('main'), hook('main', { waitForReady: true })])
    assert.equal(nextPodStep(pod({ containerStatuses: [running('main', false)] }), pending).type, 'wait')
    assert.equal(nextPodStep(pod({ containerStatuses: [running('main', true)] }), pending).type, 'run')
  })

  it('are given up when the pod is gone or has ended, unless all have run', () => {
    const pending = byContainer([hook('main')])
    assert.equal(nextPodStep(undefined, pending).type, 'give-up')
    for (const phase of ['Succeeded', 'Failed']) {
      const step = nextPodStep(pod({ phase, containerStatuses: [running('main', true)] }), pending)
      assert.deepEqual(step, { type: 'give-up', reason: `the pod entered phase ${phase} before` })
    }
    assert.equal(nextPodStep(undefined, new Map()).type, 'done')
  })

  it('are waited for as long as the most patient of them waits', () => {
    assert.equal(longestWaitMs([hook('a', { waitMs: 5 }), hook('b', { waitMs: 7 })]), 7)
    assert.equal(longestWaitMs([hook('a', { waitMs: 5 }), hook('b')]), undefined)
  })
})

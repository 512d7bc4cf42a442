import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ServerStatusRequest, ServerStatusRequestStatus } from '@lateen/api'
import { nextStep } from './server-status-request.ts'

const now = Date.parse('2026-01-01T00:01:00Z')

function request(status?: ServerStatusRequestStatus): ServerStatusRequest {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'ServerStatusRequest',
    metadata: { name: 'r', namespace: 'velero' },
    spec: {},
    ...(status && { status }),
  }
}

describe('nextStep for a status request', () => {
  it('answers one without a phase and a new one', () => {
    assert.deepEqual(nextStep(request(), now), { type: 'answer' })
    assert.deepEqual(nextStep(request({}), now), { type: 'answer' })
    assert.deepEqual(nextStep(request({ phase: 'New' }), now), { type: 'answer' })
  })

  it('leaves an answer for a minute', () => {
    const answered = request({ phase: 'Processed', processedTimestamp: '2026-01-01T00:00:50Z' })
    assert.deepEqual(nextStep(answered, now), { type: 'wait', afterMs: 50_000 })
  })

  it('deletes it then, and also when nobody knows when it was answered', () => {
    const old = request({ phase: 'Processed', processedTimestamp: '2026-01-01T00:00:00Z' })
    assert.deepEqual(nextStep(old, now), { type: 'delete' })
    assert.deepEqual(nextStep(request({ phase: 'Processed' }), now), { type: 'delete' })
    const odd = request({ phase: 'Processed', processedTimestamp: 'yesterday' })
    assert.deepEqual(nextStep(odd, now), { type: 'delete' })
  })

  it('ignores what is gone and phases it does not know', () => {
    assert.deepEqual(nextStep(undefined, now), { type: 'ignore' })
    const foreign = request({ phase: 'Else' } as unknown as ServerStatusRequestStatus)
    assert.deepEqual(nextStep(foreign, now), { type: 'ignore' })
  })
})

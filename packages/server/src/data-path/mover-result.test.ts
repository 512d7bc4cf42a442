import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withResult } from './mover-result.ts'
import type { MoverState } from './mover-state.ts'

const result = '{"snapshotID":"s"}'
const told: MoverState = { type: 'ended', well: true, lastWords: result }

describe('A mover that told its result', () => {
  const states: MoverState[] = [
    { type: 'running' },
    { type: 'absent' },
    { type: 'broken', reason: 'its node does not answer' },
    { type: 'ended', well: false, lastWords: 'OOMKilled' },
  ]
  for (const state of states) {
    it(`is done, also when its pod is ${state.type} by then`, () => {
      for (const phase of ['InProgress', 'Canceling'] as const) {
        assert.deepEqual(withResult(state, { phase, result }), told, phase)
      }
    })
  }

  it('is seen to be gone once its result is written down', () => {
    const gone: MoverState = { type: 'absent' }
    assert.equal(withResult(gone, { phase: 'Completed', result }), gone)
    assert.equal(withResult(gone, { phase: 'InProgress', result: undefined }), gone)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eventLines, type PodEvent } from './pod-events.ts'

function event(at: { second: number; type: string }, reason: string, message: string): PodEvent {
  const lastTimestamp = `2026-01-01T00:00:0${at.second}Z`
  return { apiVersion: 'v1', kind: 'Event', metadata: {}, type: at.type, reason, message, lastTimestamp }
}

describe('eventLines', () => {
  it('tells warnings, and what else happened only where there are none', () => {
    const pulled = event({ second: 1, type: 'Normal' }, 'Pulled', 'image is there')
    const failed = event({ second: 2, type: 'Warning' }, 'FailedMount', 'configmap "x"\n  not found')
    assert.deepEqual(eventLines([failed, pulled]), ['event FailedMount: configmap "x" not found'])
    assert.deepEqual(eventLines([pulled]), ['event Pulled: image is there'])
    assert.deepEqual(eventLines([]), [])
  })

  it('tells the latest few, in order, and none twice', () => {
    const events = [4, 1, 3, 2, 4].map(second =>
      event({ second, type: 'Warning' }, 'Failed', `try ${second}`),
    )
    assert.deepEqual(eventLines(events, 2), ['event Failed: try 3', 'event Failed: try 4'])
  })
})

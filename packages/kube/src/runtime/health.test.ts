import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type HealthFacts, reasonsNotReady } from './health.ts'

const ready: HealthFacts = { stopping: false, informers: [{ name: 'pods', hasSynced: true }], checks: [] }

describe('reasonsNotReady', () => {
  it('finds none when informers have synced and there is no election', () => {
    assert.deepEqual(reasonsNotReady(ready), [])
  })

  it('holds leader and standby for ready', () => {
    assert.deepEqual(reasonsNotReady({ ...ready, election: 'leading' }), [])
    assert.deepEqual(reasonsNotReady({ ...ready, election: 'standby' }), [])
  })

  it('names every informer that is behind, an election without news, and failing checks', () => {
    const reasons = reasonsNotReady({
      stopping: false,
      informers: [
        { name: 'pods', hasSynced: false },
        { name: 'nodes', hasSynced: true },
        { name: 'backups', hasSynced: false },
      ],
      election: 'unknown',
      checks: [
        { name: 'plugins', reason: 'aws is starting' },
        { name: 'disk', reason: undefined },
      ],
    })
    assert.equal(reasons.length, 4)
    for (const part of ['pods', 'backups', 'lease', 'plugins: aws is starting']) {
      assert.ok(
        reasons.some(reason => reason.includes(part)),
        part,
      )
    }
  })

  it('is not ready while stopping', () => {
    assert.deepEqual(reasonsNotReady({ ...ready, stopping: true }), ['stopping'])
  })
})

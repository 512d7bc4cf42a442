import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeReady, type HealthFacts, reasonsNotReady } from './health.ts'

const election = (state: 'unknown' | 'standby' | 'leading', more: object = {}) => ({
  ...{ state, holder: undefined, lastError: undefined, ...more },
})

const ready: HealthFacts = { stopping: false, informers: [{ name: 'pods', hasSynced: true }], checks: [] }

describe('reasonsNotReady', () => {
  it('finds none when informers have synced and there is no election', () => {
    assert.deepEqual(reasonsNotReady(ready), [])
  })

  it('holds leader and standby for ready', () => {
    assert.deepEqual(reasonsNotReady({ ...ready, election: election('leading') }), [])
    assert.deepEqual(reasonsNotReady({ ...ready, election: election('standby') }), [])
  })

  it('names every informer that is behind, an election without news, and failing checks', () => {
    const reasons = reasonsNotReady({
      stopping: false,
      informers: [
        { name: 'pods', hasSynced: false },
        { name: 'nodes', hasSynced: true },
        { name: 'backups', hasSynced: false },
      ],
      election: election('unknown', { lastError: new Error('leases are forbidden') }),
      checks: [
        { name: 'plugins', reason: 'aws is starting' },
        { name: 'disk', reason: undefined },
      ],
    })
    assert.equal(reasons.length, 4)
    for (const part of ['pods', 'backups', 'lease yet: leases are forbidden', 'plugins: aws is starting']) {
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

describe('describeReady', () => {
  it('says of a standby that it is one, and who leads', () => {
    assert.equal(
      describeReady({ election: election('standby', { holder: 'pod-a' }) }),
      'ok, standby: pod-a leads',
    )
    assert.equal(describeReady({ election: election('standby') }), 'ok, standby: nobody leads')
  })

  it('says no more than ok of a leader, and of one that is alone', () => {
    assert.equal(describeReady({ election: election('leading', { holder: 'pod-a' }) }), 'ok')
    assert.equal(describeReady({}), 'ok')
  })
})

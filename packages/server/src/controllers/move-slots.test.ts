import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { labelNames } from '@lateen/api'
import { type Countable, moveSlots } from './move-slots.ts'

type Status = NonNullable<Countable['status']> & { node?: string }

function object(status: Status, more: { spec?: object; labels?: Record<string, string> } = {}): Countable {
  const { spec = {}, labels = {} } = more
  return { apiVersion: 'v1', kind: 'Any', metadata: { name: 'a', labels }, spec, status }
}

const sort = (...objects: Countable[]) => ({ list: () => objects })
const now = Date.parse('2026-01-01T00:01:00Z')
const limits = { node: 'here', most: 2, now: () => now }

describe('the slots of a node', () => {
  it('are taken by what moves on it, of all sorts of work', () => {
    const backups = sort(object({ phase: 'InProgress' }, { spec: { node: 'here' } }))
    const uploads = sort(object({ phase: 'Canceling', node: 'here' }))
    assert.equal(moveSlots([backups], limits).canStart(), true)
    assert.equal(moveSlots([backups, uploads], limits).canStart(), false)
  })

  it('are not taken by what moves elsewhere, waits or is over', () => {
    const others = sort(
      object({ phase: 'InProgress' }, { spec: { node: 'there' } }),
      object({ phase: 'InProgress', node: 'there' }),
      object({ phase: 'Prepared', node: 'here' }),
      object({ phase: 'Completed', node: 'here' }),
      object({}),
    )
    assert.equal(moveSlots([others], { ...limits, most: 1 }).canStart(), true)
  })

  it('are taken from the moment something starts until it can be seen', () => {
    const slots = moveSlots([], { ...limits, most: 1 })
    {
      using _started = slots.starting()
      assert.equal(slots.canStart(), false)
    }
    assert.equal(slots.canStart(), true)
  })
})

describe('the queue of pods on their way', () => {
  const preparing = object({ phase: 'Accepted' }, { labels: { [labelNames.exposeOnGoing]: 'true' } })

  it('has a length for the whole cluster, if one is given', () => {
    assert.equal(moveSlots([sort(preparing)], limits).canPrepare(), true)
    assert.equal(moveSlots([sort(preparing)], { ...limits, mostPreparing: 1 }).canPrepare(), false)
    assert.equal(moveSlots([sort(preparing)], { ...limits, mostPreparing: 2 }).canPrepare(), true)
  })

  it('has no more for a node than can start soon: as many as may move at a time, and two at least', () => {
    const waiting = (count: number, node = 'here') =>
      sort(...Array.from({ length: count }, () => object({ phase: 'Prepared', node })))
    for (const [most, ahead] of [
      [1, 2],
      [2, 2],
      [5, 5],
    ] as const) {
      const slots = (count: number, node?: string) => moveSlots([waiting(count, node)], { ...limits, most })
      assert.equal(slots(ahead - 1).canPrepare(), true)
      assert.equal(slots(ahead).canPrepare(), false)
      assert.equal(slots(ahead, 'there').canPrepare(), true)
    }
  })

  it('is not held up by pods that do not come up', () => {
    const acceptedAt = (acceptedTimestamp: string) => {
      const accepted = object({ phase: 'Accepted', acceptedTimestamp, node: 'here' })
      return moveSlots([sort(accepted, accepted)], limits)
    }
    assert.equal(acceptedAt('2026-01-01T00:00:59Z').canPrepare(), false)
    assert.equal(acceptedAt('2026-01-01T00:00:00Z').canPrepare(), true)
  })

  it('has what is being accepted in it', () => {
    const slots = moveSlots([], { ...limits, mostPreparing: 1 })
    using _accepted = slots.preparing()
    assert.equal(slots.canPrepare(), false)
  })
})

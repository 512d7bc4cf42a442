import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DataMovePhase, PodVolumeBackupKind } from '@lateen/api'
import { decideLostMove, type LostFacts } from './decide-lost-move.ts'

const minute = 60_000
const open: readonly DataMovePhase[] = ['New', 'Accepted', 'Prepared', 'InProgress', 'Canceling']

const facts = (more: Partial<LostFacts>): LostFacts => ({
  phase: 'InProgress',
  cancel: false,
  isHeld: true,
  mustBeCleaned: false,
  missing: undefined,
  forMs: 60 * minute,
  ...more,
})

const node = { what: 'node', name: 'blue' } as const
const agent = { what: 'node agent', name: 'blue' } as const

describe('decideLostMove', () => {
  it('leaves alone what a node agent looks after', () => {
    for (const phase of PodVolumeBackupKind.phases?.phases ?? []) {
      assert.deepEqual(decideLostMove(facts({ phase })), { type: 'leave' }, phase)
    }
  })

  it('fails what is for a node that is gone, in every phase, and not at the first look', () => {
    for (const phase of open) {
      assert.deepEqual(decideLostMove(facts({ phase, missing: node })), {
        type: 'fail',
        message: 'the node blue is gone',
      })
      assert.deepEqual(decideLostMove(facts({ phase, missing: node, forMs: 0 })), { type: 'leave' })
    }
  })

  it('fails a restore into a pod that is gone before it began', () => {
    const missing = { what: 'pod', name: 'shop/writer' } as const
    assert.deepEqual(decideLostMove(facts({ phase: 'New', missing, isHeld: false })), {
      type: 'fail',
      message: 'the pod shop/writer is gone',
    })
  })

  it('lets go of what ended and has no node agent any more', () => {
    for (const missing of [node, { what: 'pod', name: 'shop/writer' }] as const) {
      const over = { phase: 'Failed', missing } as const
      assert.deepEqual(decideLostMove(facts(over)), { type: 'release' })
      assert.deepEqual(decideLostMove(facts({ ...over, isHeld: false })), { type: 'leave' })
    }
    assert.deepEqual(decideLostMove(facts({ phase: 'Failed', missing: agent })), { type: 'leave' })
  })

  it('cleans up after what ended and has no node agent any more, where more is left than a node agent', () => {
    const over = facts({ phase: 'Completed', missing: agent, mustBeCleaned: true })
    assert.deepEqual(decideLostMove(over), { type: 'release' })
    assert.deepEqual(decideLostMove({ ...over, forMs: minute }), { type: 'leave' })
  })

  it('ends what was cancelled and no node agent hears of, after a while', () => {
    for (const phase of open) {
      const lost = { phase, missing: agent, cancel: true }
      assert.equal(decideLostMove(facts(lost)).type, 'cancel', phase)
      assert.equal(decideLostMove(facts({ ...lost, forMs: minute })).type, 'leave', phase)
      assert.equal(decideLostMove(facts({ ...lost, cancel: false })).type, 'leave', phase)
    }
  })
})

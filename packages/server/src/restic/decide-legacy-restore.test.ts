import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { canMove, type DataMovePhase, PodVolumeRestoreKind } from '@lateen/api'
import { decideLegacyRestore, type LegacyRestoreFacts } from './decide-legacy-restore.ts'

const facts: LegacyRestoreFacts = {
  phase: 'New',
  cancel: false,
  cancelSeenAt: undefined,
  isOurs: true,
  isReady: true,
  canStart: true,
  now: 0,
}

const step = (changes: Partial<LegacyRestoreFacts>) => decideLegacyRestore({ ...facts, ...changes }).type

describe("a restore from restic's format", () => {
  it('starts once its pod waits on this node and a slot is free', () => {
    assert.equal(step({}), 'start')
    assert.equal(step({ isReady: false }), 'ignore')
    assert.equal(step({ isOurs: false }), 'ignore')
    assert.equal(step({ canStart: false }), 'wait')
  })

  it('does not outlive the node agent that began it', () => {
    assert.equal(step({ phase: 'InProgress' }), 'fail')
    assert.equal(step({ phase: 'InProgress', cancel: true }), 'cancel')
  })

  it('of another node is left to it', () => {
    assert.equal(step({ phase: 'InProgress', isOurs: false }), 'ignore')
  })

  it('that is cancelled before it began is cancelled by whoever sees it', () => {
    assert.equal(step({ cancel: true, isOurs: false }), 'cancel')
    assert.equal(step({ cancel: true, isReady: false }), 'cancel')
  })

  it('of a node that is gone is cancelled by another in the end', () => {
    const elsewhere = { phase: 'InProgress', isOurs: false, cancel: true, cancelSeenAt: 0 } as const
    assert.equal(step({ ...elsewhere, now: 60_000 }), 'wait')
    assert.equal(step({ ...elsewhere, now: 3_600_001 }), 'cancel')
  })

  it('moves only as its kind may, and not at all when it is over', () => {
    const phases: DataMovePhase[] = ['New', 'InProgress', 'Completed', 'Failed', 'Canceled']
    const to = { start: 'InProgress', cancel: 'Canceled', fail: 'Failed' } as const
    for (const phase of phases) {
      for (const [cancel, isOurs, isReady] of [
        [false, true, true],
        [true, true, true],
        [true, false, false],
        [false, false, true],
      ] as const) {
        const type = step({ phase, cancel, isOurs, isReady, cancelSeenAt: 0, now: 4_000_000 })
        if (type === 'ignore' || type === 'wait') continue
        assert.ok(canMove(PodVolumeRestoreKind, phase, to[type]), `${phase} ${type}`)
      }
    }
  })
})

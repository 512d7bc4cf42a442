import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DataMovePhase, isTerminal, PodVolumeBackupKind } from '@lateen/api'
import fc from 'fast-check'
import { decideMove, type MoveFacts, type MoveStep, phaseAfter } from './decide-move.ts'
import { canceledWords } from './mover-message.ts'
import type { MoverState } from './mover-state.ts'

const minute = 60_000

function facts(phase: DataMovePhase, more: Partial<MoveFacts> = {}): MoveFacts {
  return {
    phase,
    cancel: false,
    isDeleted: false,
    isHeld: true,
    isOurs: true,
    isNobodys: false,
    isReady: true,
    isHere: true,
    mover: { type: 'absent' },
    acceptedAt: 0,
    cancelSeenAt: undefined,
    canStart: true,
    canPrepare: true,
    prepareTimeoutMs: 30 * minute,
    now: minute,
    ...more,
  }
}

const stepOf = (phase: DataMovePhase, more: Partial<MoveFacts> = {}): MoveStep['type'] =>
  decideMove(facts(phase, more)).type

const running: MoverState = { type: 'running' }
const well: MoverState = { type: 'ended', well: true, lastWords: '{}' }
const ill: MoverState = { type: 'ended', well: false, lastWords: 'the disk is gone' }
const stopped: MoverState = { type: 'ended', well: false, lastWords: canceledWords }

describe('decideMove', () => {
  it('leaves a mover that runs on another node to the node agent there, but not for ever', () => {
    const elsewhere = { mover: running, isHere: false }
    assert.equal(stepOf('Accepted', elsewhere), 'wait')
    assert.equal(stepOf('Accepted', { ...elsewhere, now: 29 * minute }), 'wait')
    const late = decideMove(facts('Accepted', { ...elsewhere, now: 30 * minute }))
    assert.equal(late.type, 'fail')
    assert.match(late.type === 'fail' ? late.message : '', /no node agent goes on/)
  })

  it('takes work of its node from New to Completed, a step at a time', () => {
    assert.equal(stepOf('New', { isHeld: false }), 'hold')
    assert.equal(stepOf('New'), 'accept')
    assert.equal(stepOf('Accepted'), 'expose')
    assert.equal(stepOf('Accepted', { mover: { type: 'coming' } }), 'wait')
    assert.equal(stepOf('Accepted', { mover: running }), 'prepared')
    assert.equal(stepOf('Prepared', { mover: running }), 'start')
    assert.equal(stepOf('InProgress', { mover: running }), 'follow')
    assert.equal(stepOf('InProgress', { mover: well }), 'complete')
    assert.equal(stepOf('Completed', { mover: well }), 'cleanUp')
    assert.equal(stepOf('Completed'), 'cleanUp')
    assert.equal(stepOf('Completed', { isHeld: false }), 'ignore')
  })

  it('leaves alone what is for other nodes', () => {
    for (const phase of ['New', 'Accepted', 'Prepared', 'InProgress', 'Completed'] as const) {
      assert.equal(stepOf(phase, { isOurs: false, mover: running }), 'ignore', phase)
    }
  })

  it('waits until a pod waits for its volume, and while there is no room', () => {
    assert.equal(stepOf('New', { isReady: false }), 'ignore')
    assert.equal(stepOf('New', { canPrepare: false }), 'wait')
    assert.equal(stepOf('Prepared', { mover: running, canStart: false }), 'wait')
  })

  it('cancels at once what does not move yet, and tells a mover that does', () => {
    for (const phase of ['New', 'Accepted', 'Prepared'] as const) {
      assert.equal(stepOf(phase, { cancel: true, mover: running }), 'cancel', phase)
    }
    assert.equal(stepOf('InProgress', { cancel: true, mover: running }), 'canceling')
    assert.equal(stepOf('Canceling', { cancel: true, mover: running }), 'follow')
    assert.equal(stepOf('Canceling', { cancel: true, mover: stopped }), 'cancel')
    assert.equal(stepOf('Canceling', { cancel: true }), 'cancel')
    assert.equal(stepOf('InProgress', { cancel: true, mover: stopped }), 'cancel')
    assert.equal(stepOf('InProgress', { cancel: true }), 'cancel')
  })

  it('tells of a mover that failed before it heard of the cancelling', () => {
    const step = decideMove(facts('Canceling', { cancel: true, mover: ill }))
    assert.ok(step.type === 'fail' && step.message === 'the disk is gone')
  })

  it('cancels what is being deleted, and lets it go when that is over', () => {
    for (const phase of ['New', 'Accepted', 'Prepared', 'InProgress', 'Canceling'] as const) {
      assert.equal(stepOf(phase, { isDeleted: true, mover: running }), 'wantCancel', phase)
    }
    assert.equal(stepOf('InProgress', { isDeleted: true, cancel: true, mover: running }), 'canceling')
    assert.equal(stepOf('Canceled', { isDeleted: true, cancel: true, mover: stopped }), 'cleanUp')
    assert.equal(stepOf('New', { isDeleted: true, isHeld: false }), 'ignore')
  })

  it('cancels what has no node yet, and no sooner than it began', () => {
    const nobodys = { isOurs: false, isNobodys: true, isHeld: false }
    assert.equal(stepOf('New', { ...nobodys, cancel: true }), 'cancel')
    assert.equal(stepOf('New', nobodys), 'ignore')
    assert.equal(stepOf('InProgress', { ...nobodys, cancel: true, mover: running }), 'wait')
  })

  it('takes the result of a mover that was done before it heard of the cancelling', () => {
    assert.equal(stepOf('Canceling', { cancel: true, mover: well }), 'complete')
  })

  it('does not wait for ever for one that was cancelled, whoever it belongs to', () => {
    const seen = { cancel: true, cancelSeenAt: 0, isOurs: false, mover: running }
    assert.equal(stepOf('Prepared', { ...seen, now: 6 * minute }), 'cancel')
    assert.equal(stepOf('InProgress', { ...seen, now: 6 * minute }), 'wait')
    assert.equal(stepOf('InProgress', { ...seen, now: 61 * minute }), 'cancel')
  })

  it('fails what will never be, with the reason', () => {
    const broken: MoverState = { type: 'broken', reason: 'ErrImageNeverPull' }
    for (const phase of ['Accepted', 'Prepared', 'InProgress'] as const) {
      const step = decideMove(facts(phase, { mover: broken }))
      assert.ok(step.type === 'fail' && /ErrImageNeverPull/.test(step.message), phase)
    }
    for (const phase of ['Prepared', 'InProgress'] as const) {
      const step = decideMove(facts(phase))
      assert.ok(step.type === 'fail' && /gone/.test(step.message), phase)
    }
    const late = decideMove(facts('Accepted', { now: 31 * minute, mover: { type: 'coming' } }))
    assert.ok(late.type === 'fail' && /timeout/.test(late.message))
    const lost = decideMove(facts('InProgress', { mover: ill }))
    assert.ok(lost.type === 'fail' && lost.message === 'the disk is gone')
  })

  it('moves along the edges of the phase machine only, whatever it observes', () => {
    const movers = [
      { type: 'absent' },
      { type: 'coming' },
      { type: 'broken', reason: 'x' },
      running,
      well,
      ill,
      stopped,
    ] as const
    const observed = fc.record({
      mover: fc.constantFrom<MoverState>(...movers),
      cancel: fc.boolean(),
      isOurs: fc.boolean(),
      isNobodys: fc.boolean(),
      isDeleted: fc.boolean(),
      isHeld: fc.boolean(),
      isReady: fc.boolean(),
      canStart: fc.boolean(),
      canPrepare: fc.boolean(),
      cancelSeenAt: fc.constantFrom(undefined, 0),
      now: fc.constantFrom(minute, 40 * minute, 120 * minute),
    })
    const phases = fc.constantFrom(...(PodVolumeBackupKind.phases?.phases ?? []))
    fc.assert(
      fc.property(phases, observed, (phase, more) => {
        const step = decideMove(facts(phase, more))
        if (!changing.includes(step.type)) return
        assert.notEqual(phaseAfter(step, phase), undefined, `${step.type} in ${phase}`)
        assert.ok(!isTerminal(PodVolumeBackupKind, phase), `${step.type} in ${phase}`)
      }),
      { numRuns: 5000 },
    )
  })
})

const changing: readonly MoveStep['type'][] = [
  'accept',
  'prepared',
  'start',
  'canceling',
  'complete',
  'fail',
  'cancel',
]

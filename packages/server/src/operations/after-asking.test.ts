import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OperationProgress } from '@lateen/plugin'
import { type AfterAsking, type Answer, afterAsking } from './after-asking.ts'
import type { OperationStatus } from './operation-status.ts'

const created = '2026-01-02T03:04:05Z'
const createdAt = Date.UTC(2026, 0, 2, 3, 4, 5)
const timeoutMs = 60_000

function asked(
  answer: Answer,
  { now = createdAt, status = {} as Partial<OperationStatus> } = {},
): AfterAsking {
  return afterAsking({ status: { phase: 'New', created, ...status }, answer, now, timeoutMs })
}

function progress(some: Partial<OperationProgress> = {}): Answer {
  const nothing = {
    completed: false,
    error: '',
    nCompleted: 0,
    nTotal: 0,
    operationUnits: '',
    description: '',
  }
  return { type: 'progress', progress: { ...nothing, ...some } }
}

describe('an operation whose action was asked', () => {
  it('has the counts, units, description and times of the answer', () => {
    const counts = { nCompleted: 3, nTotal: 10, operationUnits: 'bytes', description: 'uploading' }
    const times = { started: createdAt + 1000, updated: createdAt + 2000 }
    assert.deepEqual(asked(progress({ ...counts, ...times })), {
      status: {
        phase: 'InProgress',
        ...counts,
        created,
        started: '2026-01-02T03:04:06Z',
        updated: '2026-01-02T03:04:07Z',
      },
      timedOut: false,
    })
  })

  it('stays new until the action says when it started', () => {
    assert.equal(asked(progress({ nTotal: 10 })).status.phase, 'New')
  })

  for (const [name, time] of [
    ['1970', 0],
    ['the zero time of Go', -62_135_596_800_000],
    ['the year 10000, which Velero cannot read,', 253_402_300_800_000],
    ['what no Date can hold', 9e18],
    ['what is no number', Number.NaN],
  ] as const) {
    it(`takes ${name} for a time that nobody knows`, () => {
      const { status } = asked(progress({ started: time, updated: time }))
      assert.deepEqual(status, { phase: 'New', created })
    })
  }

  it('is completed or failed when the action says so, however late', () => {
    const now = createdAt + 10 * timeoutMs
    assert.equal(asked(progress({ completed: true }), { now }).status.phase, 'Completed')
    const { status, failure, timedOut } = asked(progress({ completed: true, error: 'disk full' }), { now })
    assert.deepEqual(
      [status.phase, status.error, failure, timedOut],
      ['Failed', 'disk full', 'disk full', false],
    )
  })

  it('is failed at once when the action has nothing to say about it', () => {
    const { status, failure, timedOut } = asked({ type: 'refused', reason: 'operation ID x is invalid' })
    assert.deepEqual([status.phase, status.error], ['Failed', 'operation ID x is invalid'])
    assert.deepEqual([failure, timedOut], ['operation ID x is invalid', false])
  })

  it('goes on while nobody answers, until its time is over', () => {
    const nobody: Answer = { type: 'unreachable', reason: 'connection refused' }
    const known = { phase: 'InProgress' as const, started: created, nCompleted: 5 }
    const before = asked(nobody, { now: createdAt + timeoutMs, status: known })
    assert.deepEqual(before, { status: { ...known, created }, timedOut: false })
    const after = asked(nobody, { now: createdAt + timeoutMs + 1, status: known })
    assert.equal(after.status.phase, 'Failed')
    assert.match(after.failure ?? '', /timed out.*connection refused/)
    assert.equal(after.timedOut, true)
  })

  it('is over its time when it goes on, and keeps what it has done', () => {
    const { status, timedOut } = asked(progress({ nCompleted: 7 }), { now: createdAt + timeoutMs + 1 })
    assert.deepEqual([status.phase, status.nCompleted, timedOut], ['Failed', 7, true])
    assert.equal(status.error, 'Asynchronous action timed out')
  })

  it('has the beginnings of long texts, and how long they were', () => {
    const long = `${'x'.repeat(2047)}😀${'y'.repeat(1 << 20)}`
    const said = { description: long, operationUnits: long, completed: true, error: long }
    const { status, failure } = asked(progress(said))
    assert.ok(JSON.stringify(status).length < 4096)
    assert.equal(status.error, failure)
    assert.match(status.error ?? '', /^x{2047}… \(1048578 more characters\)$/)
    assert.match(asked({ type: 'refused', reason: long }).failure ?? '', /^x{2047}…/)
  })

  it('is not waited for when nobody knows since when', () => {
    assert.equal(asked(progress(), { status: { created: undefined as never } }).timedOut, true)
  })
})

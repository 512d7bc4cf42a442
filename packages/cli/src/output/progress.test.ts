import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ProgressTracker } from '../progress/progress-tracker.ts'
import { progressBar, progressLine } from './progress.ts'

describe('ProgressTracker', () => {
  it('tells rate and time left from the last fifteen seconds', () => {
    const tracker = new ProgressTracker(0)
    const first = tracker.seen({ phase: 'InProgress', done: 0, total: 1000 }, 0)
    assert.deepEqual([first.perSecond, first.leftMs], [undefined, undefined])
    for (let second = 1; second <= 20; second += 1) {
      tracker.seen({ phase: 'InProgress', done: second, total: 1000 }, second * 1000)
    }
    const { perSecond, leftMs, elapsedMs } = tracker.seen(
      { phase: 'InProgress', done: 165, total: 465 },
      21_000,
    )
    assert.deepEqual([perSecond, leftMs, elapsedMs], [159 / 15, (300 / (159 / 15)) * 1000, 21_000])
  })
})

describe('progressLine', () => {
  it('holds what is known', () => {
    assert.equal(
      progressLine({ phase: 'Queued', queuePosition: 2, done: 0, total: 0, elapsedMs: 61_000 }),
      'Queued (position 2) 1m',
    )
    assert.equal(
      progressLine({
        phase: 'InProgress',
        done: 42,
        total: 100,
        perSecond: 7,
        leftMs: 8_286,
        elapsedMs: 6_000,
      }),
      'InProgress 6s, 42/100 items, 7.0/s, 8s left',
    )
    assert.equal(
      progressLine({ phase: 'Finalizing', done: 100, total: 100, perSecond: 7, leftMs: 0, elapsedMs: 9_000 }),
      'Finalizing 9s, 100/100 items',
    )
  })
})

describe('progressBar', () => {
  const half = {
    phase: 'InProgress',
    done: 500,
    total: 1000,
    perSecond: 100,
    leftMs: 5_000,
    elapsedMs: 5_000,
  }

  it('shows how much is done', () => {
    assert.equal(
      progressBar(half, 120),
      'InProgress 5s [############............] 50% 500/1000 items 100/s 5s left',
    )
    assert.equal(progressBar({ phase: 'New', done: 0, total: 0, elapsedMs: 1_000 }, 120), 'New 1s')
  })

  it('never fills the line of the terminal', () => {
    assert.equal(progressBar({ ...half, current: 'x'.repeat(100) }, 60).length, 59)
  })
})

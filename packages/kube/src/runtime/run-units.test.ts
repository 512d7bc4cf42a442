import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ControllerScope } from './controller.ts'
import { FakeClock } from './fake-clock.ts'
import { aborted } from './linked-abort.ts'
import { runUnits } from './run-units.ts'

function givenUnits(...runs: ((scope: ControllerScope, clock: FakeClock) => Promise<void>)[]) {
  const clock = new FakeClock()
  const stop = new AbortController()
  const lost = new AbortController()
  const units = runs.map((run, i) => ({
    name: `unit-${i}`,
    running: [`n/key-${i}`],
    run: (scope: ControllerScope) => run(scope, clock),
  }))
  let state = 'running'
  const times = { graceMs: 1_000, lastWordsMs: 14_000 }
  const ended = runUnits(units, { signal: stop.signal, lost: lost.signal, ...times, clock }).then(
    () => {
      state = 'resolved'
    },
    error => {
      state = `rejected ${error.code ?? error.message}`
      throw error
    },
  )
  ended.catch(() => {})
  return { clock, stop, lost, ended, state: () => state }
}

const obedient = ({ signal }: ControllerScope) => aborted(signal)
const untilAborted = ({ abort }: ControllerScope) => aborted(abort)
const deaf = () => new Promise<void>(() => {})
/** Says its last words for so long. */
const talkative =
  (ms: number) =>
  async ({ abort }: ControllerScope, clock: FakeClock) => {
    await aborted(abort)
    await clock.sleep(ms)
  }

describe('runUnits', () => {
  it('goes on until the signal aborts, even when a unit has nothing left to do', async () => {
    const { clock, stop, state } = givenUnits(obedient, () => Promise.resolve())
    await clock.advance(60_000)
    assert.equal(state(), 'running')
    stop.abort()
    await clock.settle()
    assert.equal(state(), 'resolved')
  })

  it('stops all units when one throws, and throws its error', async () => {
    const broken = async (_: ControllerScope, time: FakeClock) => {
      await time.sleep(10)
      throw new Error('broken')
    }
    const { clock, state } = givenUnits(obedient, broken)
    await clock.advance(20)
    assert.equal(state(), 'rejected broken')
  })

  it('aborts units that outlast the grace time', async () => {
    const { clock, stop, state } = givenUnits(untilAborted)
    stop.abort()
    await clock.advance(999)
    assert.equal(state(), 'running')
    await clock.advance(2)
    assert.equal(state(), 'resolved')
  })

  it('aborts units at once when leadership is lost', async () => {
    const { clock, lost, state } = givenUnits(untilAborted)
    lost.abort()
    await clock.settle()
    assert.equal(state(), 'resolved')
  })

  it('lets aborted units say their last words, for which 4 s were not enough', async () => {
    const { clock, stop, state } = givenUnits(talkative(13_000))
    stop.abort()
    await clock.advance(13_999)
    assert.equal(state(), 'running')
    await clock.advance(2)
    assert.equal(state(), 'resolved')
  })

  it('waits no longer than 4 s for units once leadership is lost, whether it is stopping or not', async () => {
    for (const beforeMs of [undefined, 500, 5_000]) {
      const { clock, stop, lost, state } = givenUnits(talkative(13_000))
      if (beforeMs !== undefined) {
        stop.abort()
        await clock.advance(beforeMs)
      }
      lost.abort()
      await clock.advance(3_999)
      assert.equal(state(), 'running', String(beforeMs))
      await clock.advance(2)
      assert.equal(state(), 'rejected STOP_TIMED_OUT', String(beforeMs))
    }
  })

  it('gives up on units that ignore being aborted and names them with what they were doing', async () => {
    const { clock, stop, ended } = givenUnits(obedient, deaf)
    stop.abort()
    await clock.advance(60_000)
    await assert.rejects(ended, { code: 'STOP_TIMED_OUT', message: /unit-1 \(n\/key-1\)/ })
    await assert.rejects(ended, error => !String(error).includes('unit-0'))
  })
})

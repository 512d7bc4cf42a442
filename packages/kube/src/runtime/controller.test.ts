import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Logger } from '../logger.ts'
import { type ControllerOptions, createController } from './controller.ts'
import { FakeClock } from './fake-clock.ts'
import { again, done, type Reconcile, TerminalError } from './reconcile.ts'
import { periodically } from './source.ts'

const backoff = { baseMs: 100, maxMs: 1_000, jitter: 0 }

/** Keeps the messages it was given. */
function recordingLog(lines: { level: string; message: string; fields: Record<string, unknown> }[]): Logger {
  const at = (level: string, bound: object) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...bound, ...fields } })
  }
  const bindTo = (bound: object): Logger => ({
    debug: at('debug', bound),
    info: at('info', bound),
    warn: at('warn', bound),
    error: at('error', bound),
    child: fields => bindTo({ ...bound, ...fields }),
  })
  return bindTo({})
}

/** A running controller on a fake clock. `at` collects when each reconcile began, counted from the start. */
function givenController(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const clock = new FakeClock()
  const start = clock.now()
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = []
  const at: { key: string; ms: number }[] = []
  const controller = createController(
    {
      name: 'test',
      sources: [],
      backoff,
      reconcile(key, context) {
        at.push({ key, ms: clock.now() - start })
        return reconcile(key, context)
      },
      ...options,
    },
    { log: recordingLog(lines), clock, random: () => 0 },
  )
  const stop = new AbortController()
  const abort = new AbortController()
  const ended = controller.run({ signal: stop.signal, abort: abort.signal })
  return { clock, controller, stop, abort, ended, at, lines }
}

describe('controller', () => {
  it('is quiet about a key that is done', async () => {
    const { clock, controller, at } = givenController(() => Promise.resolve(done()))
    controller.enqueue('n/a')
    await clock.advance(60_000)
    assert.deepEqual(at, [{ key: 'n/a', ms: 0 }])
  })

  it('looks again after the time that reconcile asked for', async () => {
    const outcomes = [again({ afterMs: 700 }), again({ afterMs: 50 }), done()]
    const { clock, controller, at } = givenController(() => Promise.resolve(outcomes.shift() ?? done()))
    controller.enqueue('n/a')
    await clock.advance(60_000)
    assert.deepEqual(
      at.map(({ ms }) => ms),
      [0, 700, 750],
    )
  })

  it('retries a failure with growing waits and tells reconcile how often it failed', async () => {
    const failures: number[] = []
    const { clock, controller, at } = givenController((_, context) => {
      failures.push(context.failures)
      return failures.length < 4 ? Promise.reject(new Error('not yet')) : Promise.resolve(done())
    })
    controller.enqueue('n/a')
    await clock.advance(60_000)
    assert.deepEqual(
      at.map(({ ms }) => ms),
      [0, 100, 300, 700],
    )
    assert.deepEqual(failures, [0, 1, 2, 3])
  })

  it('begins again with the shortest wait when a key fails after it had succeeded', async () => {
    const results = [false, false, true, false, true]
    const { clock, controller, at } = givenController(() =>
      results.shift() === true ? Promise.resolve(done()) : Promise.reject(new Error('not yet')),
    )
    controller.enqueue('n/a')
    await clock.advance(1_000)
    controller.enqueue('n/a')
    await clock.advance(1_000)
    assert.deepEqual(
      at.map(({ ms }) => ms),
      [0, 100, 300, 1_000, 1_100],
    )
  })

  it('contains a reconcile that throws before it returns a promise', async () => {
    let calls = 0
    const { clock, controller, at } = givenController(() => {
      calls += 1
      if (calls === 1) throw new TypeError('undefined is not a function')
      return Promise.resolve(done())
    })
    controller.enqueue('n/a')
    await clock.advance(60_000)
    assert.equal(at.length, 2)
  })

  it('does not retry a terminal error, but reconciles again on the next event', async () => {
    const { clock, controller, at, lines } = givenController(() =>
      Promise.reject(new TerminalError('The provider is unknown', { code: 'UNKNOWN_PROVIDER' })),
    )
    controller.enqueue('n/a')
    await clock.advance(60_000)
    assert.equal(at.length, 1)
    assert.deepEqual(
      lines.map(({ level, message, fields }) => [level, message, fields.controller, fields.key]),
      [['error', 'reconcile failed for good', 'test', 'n/a']],
    )
    controller.enqueue('n/a')
    await clock.advance(1)
    assert.equal(at.length, 2)
  })

  it('aborts a reconcile that takes too long and retries it', async () => {
    const reasons: unknown[] = []
    const { clock, controller, at } = givenController(
      async (_, { signal }) => {
        await clock.sleep(5_000, signal).catch(reason => {
          reasons.push(reason.code)
          throw reason
        })
        return done()
      },
      { timeoutMs: 1_000 },
    )
    controller.enqueue('n/a')
    await clock.advance(1_500)
    assert.deepEqual(reasons, ['RECONCILE_TIMED_OUT'])
    assert.deepEqual(
      at.map(({ ms }) => ms),
      [0, 1_100],
    )
  })

  it('lets running reconciles finish when stopped, and aborts them when told to', async () => {
    const finished: string[] = []
    const slow: Reconcile = async (key, { signal }) => {
      await clock.sleep(1_000, signal)
      finished.push(key)
      return done()
    }
    const { clock, controller, stop, abort, ended } = givenController(slow, { concurrency: 2 })
    controller.enqueue('n/a')
    await clock.advance(500)
    controller.enqueue('n/b')
    await clock.advance(1)
    stop.abort()
    await clock.advance(600)
    assert.deepEqual(finished, ['n/a'])
    assert.deepEqual(controller.running, ['n/b'])
    abort.abort()
    await ended
    assert.deepEqual(finished, ['n/a'])
    assert.deepEqual(controller.running, [])
  })

  it('enqueues the keys of a periodic source at once and every period, also after the source failed', async () => {
    let calls = 0
    const keys = () => {
      calls += 1
      return calls === 2 ? Promise.reject(new Error('no list')) : Promise.resolve(['n/a', 'n/b'])
    }
    const options = { sources: [periodically({ everyMs: 1_000, keys })] }
    const { clock, at, stop, ended } = givenController(() => Promise.resolve(done()), options)
    await clock.advance(2_500)
    assert.deepEqual(
      at.map(({ key, ms }) => `${key} ${ms}`),
      ['n/a 0', 'n/b 0', 'n/a 2000', 'n/b 2000'],
    )
    stop.abort()
    await ended
  })

  it('takes keys from a source made by hand', async () => {
    const source = {
      run(enqueue: (key: string) => void) {
        enqueue('n/hand')
        return Promise.resolve()
      },
    }
    const { clock, at } = givenController(() => Promise.resolve(done()), { sources: [source] })
    await clock.settle()
    assert.deepEqual(at, [{ key: 'n/hand', ms: 0 }])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { FakeClock } from './fake-clock.ts'
import { WorkQueue } from './work-queue.ts'

const backoff = { baseMs: 100, maxMs: 1_000, jitter: 0 }
/** Longer than all delays, retries and work of a scenario together. */
const longEnoughMs = 100_000

/** A queue on a fake clock whose work takes time and fails as often as told, and that keeps a log of what happened. */
function givenQueue({ workers = 1, workMs = 0, failures = {} as Record<string, number> } = {}) {
  const clock = new FakeClock()
  const queue = new WorkQueue({ clock, random: () => 0, backoff })
  const stop = new AbortController()
  const begun: { key: string; order: number; at: number }[] = []
  const running: string[] = []
  const doubled: string[] = []
  let order = 0
  let mostAtOnce = 0
  const left = { ...failures }
  const work = async (key: string) => {
    if (running.includes(key)) doubled.push(key)
    running.push(key)
    mostAtOnce = Math.max(mostAtOnce, running.length)
    begun.push({ key, order: order++, at: clock.now() })
    if (workMs > 0) await clock.sleep(workMs)
    running.splice(running.indexOf(key), 1)
    if ((left[key] ?? 0) > 0) {
      left[key] = (left[key] ?? 0) - 1
      throw new Error('told to fail')
    }
    queue.forget(key)
  }
  const ended = queue.run({ workers, signal: stop.signal, work })
  const keys = () => begun.map(each => each.key)
  return {
    clock,
    queue,
    stop,
    begun,
    keys,
    running,
    doubled,
    ended,
    tick: () => order++,
    mostAtOnce: () => mostAtOnce,
  }
}

type Step =
  | { type: 'add'; key: string }
  | { type: 'addAfter'; key: string; ms: number }
  | { type: 'advance'; ms: number }

const keys = fc.constantFrom('a', 'b', 'c', 'd')
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant('add' as const), key: keys }),
  fc.record({ type: fc.constant('addAfter' as const), key: keys, ms: fc.integer({ min: 0, max: 500 }) }),
  fc.record({ type: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 300 }) }),
)
const steps = fc.array(step, { maxLength: 30 })
const scenarios = fc.record({
  steps,
  workers: fc.integer({ min: 1, max: 3 }),
  workMs: fc.integer({ min: 0, max: 120 }),
  failures: fc.dictionary(keys, fc.integer({ min: 0, max: 3 })),
})

describe('WorkQueue under any sequence of adds', () => {
  it('never works twice on one key at a time, nor on more keys than it has workers', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async scenario => {
        const given = givenQueue(scenario)
        await play(given, scenario.steps)
        await given.clock.advance(longEnoughMs)
        given.stop.abort()
        await given.ended
        assert.deepEqual(given.doubled, [])
        assert.ok(given.mostAtOnce() <= scenario.workers)
      }),
    )
  })

  it('begins work on a key after every add of it, delayed or not', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async scenario => {
        const given = givenQueue(scenario)
        const adds = await play(given, scenario.steps)
        await given.clock.advance(longEnoughMs)
        for (const add of adds) {
          assert.ok(
            given.begun.some(({ key, order }) => key === add.key && order > add.order),
            `the add of ${add.key} was lost`,
          )
        }
        given.stop.abort()
        await given.ended
      }),
    )
  })

  it('begins a key that is only added with delays exactly when the earliest is due', async () => {
    const delays = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(delays, async ms => {
        const { clock, queue, begun, stop, ended } = givenQueue()
        const start = clock.now()
        for (const delay of ms) queue.addAfter('a', delay)
        await clock.advance(longEnoughMs)
        assert.deepEqual(
          begun.map(({ at }) => at - start),
          [Math.min(...ms)],
        )
        stop.abort()
        await ended
      }),
    )
  })

  it('ends when stopped at any moment, having finished what was running and begun nothing more', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async scenario => {
        const given = givenQueue(scenario)
        await play(given, scenario.steps)
        const begunBefore = given.begun.length
        const taken = given.queue.running
        given.stop.abort()
        await given.clock.advance(longEnoughMs)
        await given.ended
        for (const key of given.keys().slice(begunBefore))
          assert.ok(taken.includes(key), `${key} began after the stop`)
        assert.deepEqual(given.running, [])
        assert.equal(given.queue.depth, 0)
      }),
    )
  })
})

async function play(given: ReturnType<typeof givenQueue>, sequence: readonly Step[]) {
  const adds: { key: string; order: number }[] = []
  for (const step of sequence) {
    if (step.type === 'advance') {
      await given.clock.advance(step.ms)
      continue
    }
    adds.push({ key: step.key, order: given.tick() })
    if (step.type === 'add') given.queue.add(step.key)
    else given.queue.addAfter(step.key, step.ms)
  }
  return adds
}

describe('WorkQueue', () => {
  it('holds a key that waits only once', async () => {
    const { clock, queue, keys } = givenQueue()
    for (let i = 0; i < 5; i++) queue.add('a')
    assert.equal(queue.depth, 1)
    await clock.settle()
    assert.deepEqual(keys(), ['a'])
  })

  it('works in order of arrival', async () => {
    const { clock, queue, keys } = givenQueue()
    for (const key of ['c', 'a', 'b', 'a']) queue.add(key)
    await clock.settle()
    assert.deepEqual(keys(), ['c', 'a', 'b'])
  })

  it('works once more on a key that was added several times while being worked on', async () => {
    const { clock, queue, begun } = givenQueue({ workMs: 50, workers: 2 })
    queue.add('a')
    await clock.advance(10)
    queue.add('a')
    queue.add('a')
    await clock.advance(1_000)
    assert.equal(begun.length, 2)
  })

  it('doubles the wait of a failing key and starts afresh once it is forgotten', async () => {
    const { clock, queue, begun } = givenQueue({ failures: { a: 3 } })
    const start = clock.now()
    queue.add('a')
    await clock.advance(longEnoughMs)
    assert.deepEqual(
      begun.map(({ at }) => at - start),
      [0, 100, 300, 700],
    )
    assert.equal(queue.failures('a'), 0)
    assert.equal(queue.retry('a'), 100)
  })

  it('lets other keys pass while one waits for its retry', async () => {
    const { clock, queue, keys } = givenQueue({ failures: { a: 1 } })
    queue.add('a')
    queue.add('b')
    await clock.settle()
    assert.deepEqual(keys(), ['a', 'b'])
  })

  it('lets an immediate add replace a delayed one', async () => {
    const { clock, queue, keys } = givenQueue()
    queue.addAfter('a', 1_000)
    queue.add('a')
    await clock.advance(longEnoughMs)
    assert.deepEqual(keys(), ['a'])
  })

  it('reaches delays longer than a timer can hold', async () => {
    const { clock, queue, begun } = givenQueue()
    const sixtyDays = 60 * 24 * 3_600_000
    const start = clock.now()
    queue.addAfter('a', sixtyDays)
    await clock.advance(sixtyDays + 1)
    assert.deepEqual(
      begun.map(({ at }) => at - start),
      [sixtyDays],
    )
  })

  it('takes keys that were added before it ran and ignores those added after it stopped', async () => {
    const clock = new FakeClock()
    const queue = new WorkQueue({ clock, random: () => 0 })
    const stop = new AbortController()
    const worked: string[] = []
    queue.add('early')
    const ended = queue.run({
      workers: 1,
      signal: stop.signal,
      work: key => {
        worked.push(key)
        return Promise.resolve()
      },
    })
    await clock.settle()
    stop.abort()
    await ended
    queue.add('late')
    queue.addAfter('later', 5)
    assert.deepEqual(worked, ['early'])
    assert.equal(queue.depth, 0)
  })

  it('tells its observer about depth, adds, waiting, work and retries', async () => {
    const clock = new FakeClock()
    const seen: string[] = []
    const observer = {
      depth: (keys: number) => seen.push(`depth ${keys}`),
      added: (key: string) => seen.push(`added ${key}`),
      began: (key: string, waitedMs: number) => seen.push(`began ${key} after ${waitedMs}`),
      finished: (key: string, workedMs: number) => seen.push(`finished ${key} in ${workedMs}`),
      retried: (key: string, delayMs: number) => seen.push(`retried ${key} after ${delayMs}`),
    }
    const queue = new WorkQueue({ clock, random: () => 0, backoff, observer })
    queue.add('a')
    await clock.advance(30)
    const stop = new AbortController()
    const work = async () => {
      await clock.sleep(20)
      throw new Error('told to fail')
    }
    const ended = queue.run({ workers: 1, signal: stop.signal, work })
    await clock.advance(25)
    stop.abort()
    await ended
    assert.deepEqual(seen, [
      'added a',
      'depth 1',
      'depth 0',
      'began a after 30',
      'retried a after 100',
      'finished a in 20',
      'depth 0',
    ])
  })
})

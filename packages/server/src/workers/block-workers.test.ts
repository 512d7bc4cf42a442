import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { BlockWorkersError, createBlockWorkers } from './block-workers.ts'

const never = new AbortController().signal

/** A task that notes when it begins and ends when told. */
function gate(began: string[], name: string) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const task = async () => {
    began.push(name)
    await promise
  }
  return { task, end: resolve }
}

describe('the workers of a server', () => {
  it('run tasks of a backup one after the other, in order, when there is one worker', async () => {
    await using workers = createBlockWorkers({ count: 1 })
    await using lane = workers.open(never)
    const events: string[] = []
    for (const name of ['a', 'b', 'c']) {
      await lane.submit(async () => {
        events.push(`${name} begins`)
        await setImmediate()
        events.push(`${name} ends`)
      })
    }
    await lane.drain()
    assert.deepEqual(events, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })

  it('run as many tasks at once as there are workers, and no more', async () => {
    await using workers = createBlockWorkers({ count: 3 })
    await using lane = workers.open(never)
    let running = 0
    let most = 0
    for (let index = 0; index < 12; index++) {
      await lane.submit(async () => {
        running += 1
        most = Math.max(most, running)
        await setImmediate()
        running -= 1
      })
    }
    await lane.drain()
    assert.equal(most, 3)
  })

  it('do not take more than the queue holds', async () => {
    await using workers = createBlockWorkers({ count: 1, queueLength: 2 })
    await using lane = workers.open(never)
    const began: string[] = []
    const gates = ['a', 'b', 'c', 'd'].map(name => gate(began, name))
    const submitted: number[] = []
    const submitting = (async () => {
      for (const [index, { task }] of gates.entries()) {
        await lane.submit(task)
        submitted.push(index)
      }
    })()
    await setImmediate()
    assert.deepEqual(submitted, [0, 1, 2])
    gates[0]?.end()
    await submitting
    assert.deepEqual(submitted, [0, 1, 2, 3])
    for (const { end } of gates) end()
    await lane.drain()
    assert.deepEqual(began, ['a', 'b', 'c', 'd'])
  })

  it('take turns between backups', async () => {
    await using workers = createBlockWorkers({ count: 1, queueLength: 10 })
    await using large = workers.open(never)
    await using small = workers.open(never)
    const began: string[] = []
    const first = gate(began, 'large 0')
    await large.submit(first.task)
    for (let index = 1; index <= 3; index++) await large.submit(async () => void began.push(`large ${index}`))
    await small.submit(async () => void began.push('small'))
    first.end()
    await Promise.all([large.drain(), small.drain()])
    assert.deepEqual(began, ['large 0', 'large 1', 'small', 'large 2', 'large 3'])
  })

  it('perform a task to its end before they return', async () => {
    await using workers = createBlockWorkers({ count: 4 })
    await using lane = workers.open(never)
    let ended = false
    await lane.perform(async () => {
      await setImmediate()
      ended = true
    })
    assert.ok(ended)
  })

  it('drop what has not begun and tell what has when a backup is cancelled, and leave other backups alone', async () => {
    await using workers = createBlockWorkers({ count: 1, queueLength: 10 })
    const cancel = new AbortController()
    const reason = new Error('enough')
    const began: string[] = []
    await using other = workers.open(never)
    {
      await using lane = workers.open(cancel.signal)
      await lane.submit(async signal => {
        began.push('running')
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      })
      await lane.submit(async () => void began.push('queued'))
      await other.submit(async () => void began.push('other'))
      cancel.abort(reason)
      await assert.rejects(lane.drain(), reason)
      await assert.rejects(
        lane.submit(async () => undefined),
        reason,
      )
    }
    await other.drain()
    assert.deepEqual(began, ['running', 'other'])
  })

  it('wait for a running task when its lane is disposed of', async () => {
    await using workers = createBlockWorkers({ count: 1 })
    const began: string[] = []
    const { task, end } = gate(began, 'a')
    const lane = workers.open(never)
    await lane.submit(task)
    let disposed = false
    const disposing = lane[Symbol.asyncDispose]().then(() => {
      disposed = true
    })
    await setImmediate()
    assert.equal(disposed, false)
    end()
    await disposing
  })

  it('end a backup with what one of its tasks threw', async () => {
    await using workers = createBlockWorkers({ count: 1 })
    await using lane = workers.open(never)
    const fault = new Error('the disk is full')
    await lane.submit(async () => Promise.reject(fault))
    await assert.rejects(lane.drain(), fault)
    await assert.rejects(
      lane.perform(async () => undefined),
      fault,
    )
  })

  it('stop after the backups that run, and begin no other', async () => {
    const workers = createBlockWorkers({ count: 1 })
    const lane = workers.open(never)
    const began: string[] = []
    await lane.submit(async () => void began.push('a'))
    const stopping = workers[Symbol.asyncDispose]()
    assert.throws(
      () => workers.open(never),
      (error: BlockWorkersError) => error instanceof BlockWorkersError && error.code === 'WORKERS_CLOSED',
    )
    await lane.submit(async () => void began.push('b'))
    await lane.drain()
    await lane[Symbol.asyncDispose]()
    await stopping
    assert.deepEqual(began, ['a', 'b'])
  })
})

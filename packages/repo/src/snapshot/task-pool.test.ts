import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TaskPool } from './task-pool.ts'

describe('a task pool', () => {
  it('never runs more tasks or more weight than its limits allow', async () => {
    const pool = new TaskPool({ tasks: 3, weight: 10 })
    const running: number[] = []
    const seen: { tasks: number; weight: number }[] = []
    for (const weight of [1, 9, 5, 5, 1, 1, 1, 1, 10, 4]) {
      await pool.start(weight, async () => {
        running.push(weight)
        seen.push({ tasks: running.length, weight: running.reduce((a, b) => a + b, 0) })
        await new Promise(resolve => setImmediate(resolve))
        running.splice(running.indexOf(weight), 1)
      })
    }
    await pool.drain()
    assert.equal(seen.length, 10)
    assert.ok(seen.every(({ tasks, weight }) => tasks <= 3 && weight <= 10))
    assert.ok(seen.some(({ tasks }) => tasks === 3))
  })

  it('runs a task alone that weighs more than the limit', async () => {
    const pool = new TaskPool({ tasks: 2, weight: 10 })
    let ran = false
    await pool.start(100, async () => {
      ran = true
    })
    await pool.drain()
    assert.ok(ran)
  })

  it('hands on the first error, starts nothing after it and waits for what runs', async () => {
    const pool = new TaskPool({ tasks: 1, weight: 10 })
    await pool.start(1, () => Promise.reject(new Error('first')))
    await assert.rejects(
      pool.start(1, () => assert.fail('started')),
      /first/,
    )
    await assert.rejects(pool.drain(), /first/)
  })
})

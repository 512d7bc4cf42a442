import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eachOf } from './each-of.ts'

interface Seen {
  asked: number
  closed: boolean
}

async function* count(to: number, seen: Seen) {
  try {
    for (let number = 1; number <= to; number += 1) {
      seen.asked = number
      yield number
    }
  } finally {
    seen.closed = true
  }
}

describe('work on what comes', () => {
  it('does all of it, never more at once than allowed, and asks for no more than it works on', async () => {
    const seen: Seen = { asked: 0, closed: false }
    const done: number[] = []
    let underWay = 0
    let most = 0
    await eachOf(count(50, seen), 4, async number => {
      underWay += 1
      most = Math.max(most, underWay)
      assert.ok(seen.asked - done.length <= 4)
      await new Promise(resolve => setImmediate(resolve))
      underWay -= 1
      done.push(number)
    })
    assert.equal(most, 4)
    assert.deepEqual(
      done.toSorted((a, b) => a - b),
      Array.from({ length: 50 }, (_, index) => index + 1),
    )
  })

  it('ends with the first failure, after what is under way, and closes the source', async () => {
    const seen: Seen = { asked: 0, closed: false }
    let underWay = 0
    const working = eachOf(count(1_000, seen), 3, async number => {
      underWay += 1
      await new Promise(resolve => setImmediate(resolve))
      underWay -= 1
      if (number === 5) throw new Error('five')
    })
    await assert.rejects(working, /five/)
    assert.equal(underWay, 0)
    assert.equal(seen.closed, true)
    assert.ok(seen.asked < 20)
  })

  it('throws what the source throws', async () => {
    const source = (async function* () {
      yield 1
      throw new Error('cut short')
    })()
    const done: number[] = []
    await assert.rejects(
      eachOf(source, 8, async number => void done.push(number)),
      /cut short/,
    )
    assert.deepEqual(done, [1])
  })
})

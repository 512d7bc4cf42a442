import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ToldProblems } from './told-problems.ts'

describe('what is wrong in a bucket', () => {
  it('is news once, and again when it is something else or was mended in between', () => {
    const told = new ToldProblems()
    const look = (...found: [string, string][]) => {
      told.begin()
      for (const [backup, reason] of found) told.add({ backup, reason })
      const news = told.takeNews().map(({ backup, reason }) => `${backup} ${reason}`)
      told.end()
      return news
    }
    assert.deepEqual(look(['b', 'torn'], ['a', 'torn']), ['a torn', 'b torn'])
    assert.deepEqual(look(['b', 'torn'], ['a', 'torn']), [])
    assert.deepEqual(look(['b', 'cut'], ['a', 'torn']), ['b cut'])
    assert.deepEqual(look(['b', 'cut']), [])
    assert.deepEqual(look(['a', 'torn']), ['a torn'])
  })

  it('stays told when a look was cut short', () => {
    const told = new ToldProblems()
    told.begin()
    told.add({ backup: 'a', reason: 'torn' })
    assert.equal(told.takeNews().length, 1)
    assert.deepEqual(told.takeNews(), [])
    told.end()
    told.begin()
    told.begin()
    told.add({ backup: 'a', reason: 'torn' })
    assert.deepEqual(told.takeNews(), [])
  })
})

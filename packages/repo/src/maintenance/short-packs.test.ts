import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { shortPacks } from './short-packs.ts'

describe('short packs', () => {
  it('are those below 60%, unless there is only one of its kind', () => {
    const pack = (id: string, bytes: number, contents = 1) => ({ id, bytes, contents })
    const found = shortPacks(
      [pack('p1', 59), pack('p2', 60), pack('q1', 10), pack('p3', 1), pack('p4', 0, 0)],
      100,
    )
    assert.deepEqual(
      found.map(({ id }) => id),
      ['p1', 'p3'],
    )
  })
})

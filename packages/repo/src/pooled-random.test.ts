import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pooledRandom } from './pooled-random.ts'

describe('pooled random bytes', () => {
  it('are each byte of the source once, in order', () => {
    let next = 0
    const random = pooledRandom(length => Uint32Array.from({ length }, () => next++) as unknown as Uint8Array)
    const taken = Array.from({ length: 3000 }, () => [...random(12)]).flat()
    assert.equal(new Set(taken).size, 36_000)
  })

  it('are as many as were asked for', () => {
    const random = pooledRandom(length => new Uint8Array(length))
    for (const length of [0, 1, 12, 64, 65, 8192, 100_000]) assert.equal(random(length).length, length)
  })

  it('are not changed by whoever got earlier ones', () => {
    const random = pooledRandom(length => new Uint8Array(length).fill(7))
    random(16).fill(0)
    assert.deepEqual(random(16), new Uint8Array(16).fill(7))
  })
})

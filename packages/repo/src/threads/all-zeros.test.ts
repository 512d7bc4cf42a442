import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allZeros } from './all-zeros.ts'

describe('allZeros', () => {
  it('finds the one byte that is not zero, wherever it is', () => {
    const length = (256 << 10) * 2 + 100
    for (const at of [0, 1, (256 << 10) - 1, 256 << 10, (256 << 10) * 2 + 50, length - 1]) {
      const bytes = new Uint8Array(length)
      bytes[at] = 1
      assert.equal(allZeros(bytes), false, `${at}`)
    }
  })

  it('knows zeros of any length, and takes nothing for none', () => {
    for (const length of [1, 4096, 256 << 10, (256 << 10) + 1])
      assert.equal(allZeros(new Uint8Array(length)), true)
    assert.equal(allZeros(new Uint8Array(0)), false)
  })
})

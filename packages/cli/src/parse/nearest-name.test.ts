import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { didYouMean, nearestName, slipsBetween } from './nearest-name.ts'

describe('slipsBetween', () => {
  const pairs: [string, string, number][] = [
    ['', '', 0],
    ['', 'abc', 3],
    ['json', 'json', 0],
    ['jsno', 'json', 1],
    ['jso', 'json', 1],
    ['jason', 'json', 1],
    ['yson', 'json', 1],
    ['backup', 'restore', 7],
  ]
  for (const [a, b, slips] of pairs) {
    it(`are ${slips} between "${a}" and "${b}", whichever comes first`, () => {
      assert.deepEqual([slipsBetween(a, b), slipsBetween(b, a)], [slips, slips])
    })
  }
})

describe('nearestName', () => {
  it('takes the nearest, whatever its letters are like', () => {
    assert.equal(nearestName('readwrite', ['ReadOnly', 'ReadWrite']), 'ReadWrite')
    assert.equal(nearestName('tabel', ['json', 'table', 'yaml']), 'table')
  })

  it('is nothing when nothing is near', () => {
    assert.equal(nearestName('nonsense', ['json', 'table']), undefined)
    assert.equal(didYouMean('nonsense', ['json', 'table']), '')
    assert.equal(didYouMean('jsn', ['json', 'table']), ' (did you mean json?)')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mergeResultsOnce, textsOf } from './merge-results.ts'

describe('merging results', () => {
  const first = {
    errors: { velero: ['a', 'a'], namespaces: { shop: ['b'] } },
    warnings: { cluster: ['c'] },
  }
  const other = { errors: { velero: ['a', 'd'], namespaces: { shop: ['e'], bank: ['f'] } }, warnings: {} }
  const merged = {
    errors: { velero: ['a', 'a', 'd'], namespaces: { shop: ['b', 'e'], bank: ['f'] } },
    warnings: { cluster: ['c'] },
  }

  it('adds what is new, where it belongs', () => {
    assert.deepEqual(mergeResultsOnce(first, other), merged)
  })

  it('adds nothing the second time', () => {
    assert.deepEqual(mergeResultsOnce(merged, other), merged)
  })

  it('finds all texts', () => {
    assert.deepEqual(textsOf(first.errors), ['a', 'a', 'b'])
  })
})

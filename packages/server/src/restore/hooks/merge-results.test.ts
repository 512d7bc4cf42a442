import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mergeResults } from './merge-results.ts'

describe('results that are merged', () => {
  it('keep all messages in their places, and change neither side', () => {
    const first = { errors: { namespaces: { a: ['1'], b: ['2'] } }, warnings: { velero: ['w'] } }
    const other = { errors: { namespaces: { b: ['3'], c: ['4'] }, cluster: ['5'] }, warnings: {} }
    assert.deepEqual(mergeResults(first, other), {
      errors: { namespaces: { a: ['1'], b: ['2', '3'], c: ['4'] }, cluster: ['5'] },
      warnings: { velero: ['w'] },
    })
    assert.deepEqual(first.errors.namespaces.b, ['2'])
  })

  it('have no places without messages', () => {
    assert.deepEqual(mergeResults({ errors: {}, warnings: {} }, { errors: {}, warnings: {} }), {
      errors: {},
      warnings: {},
    })
  })
})

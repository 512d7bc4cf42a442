import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findDrawers } from './check-names.ts'

describe('findDrawers', () => {
  it('finds folders and files that are named like drawers', () => {
    const drawers = [
      'packages/api/src/utils/a.ts',
      'packages/api/src/types.ts',
      'packages/api/src/deep/helpers.test.ts',
      'packages/api/src/Common/a.ts',
    ]
    assert.deepEqual(findDrawers(drawers), drawers)
  })

  it('lets names stand that only contain such a word, and folders outside of sources', () => {
    const fine = ['packages/api/src/util-linux.ts', 'packages/api/src/typesetter.ts', 'tools/utils/a.ts']
    assert.deepEqual(findDrawers(fine), [])
  })
})

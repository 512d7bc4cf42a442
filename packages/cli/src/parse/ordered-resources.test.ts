import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseOrderedResources } from './ordered-resources.ts'

describe('parseOrderedResources', () => {
  it('reads resources and what comes first of them', () => {
    assert.deepEqual(parseOrderedResources('pods=a/b,a/c; persistentvolumes = x '), {
      pods: 'a/b,a/c',
      persistentvolumes: 'x',
    })
  })

  for (const text of ['pods', 'pods=a=b', 'pods=a;', '']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseOrderedResources(text), { code: 'USAGE', message: /invalid OrderedResources/ })
    })
  }
})

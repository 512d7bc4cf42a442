import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { contentIdOf, parseContentId } from '../index-format/content-id.ts'
import { UsedContents } from './used-contents.ts'

const ids = fc
  .tuple(fc.constantFrom('', 'k', 'x', 'm'), fc.uint8Array({ minLength: 2, maxLength: 2 }))
  .map(([prefix, hash]) => contentIdOf(prefix, hash))

describe('the set of used contents', () => {
  it('holds exactly what was added, like any set', () => {
    fc.assert(
      fc.property(fc.array(ids, { maxLength: 3000 }), fc.array(ids, { maxLength: 100 }), (added, asked) => {
        const set = new UsedContents()
        const expected = new Set<string>()
        for (const id of added) {
          assert.equal(set.add(id), !expected.has(id))
          expected.add(id)
        }
        assert.equal(set.size, expected.size)
        for (const id of [...added, ...asked]) assert.equal(set.has(id), expected.has(id))
      }),
      { numRuns: 50 },
    )
  })

  it('tells contents apart that differ in their letter only', () => {
    const set = new UsedContents()
    set.add(parseContentId('k00ff'))
    assert.equal(set.has(parseContentId('00ff')), false)
    assert.equal(set.has(parseContentId('k00ff')), true)
  })

  it('takes ids of several lengths, and has nothing while it is empty', () => {
    const set = new UsedContents()
    assert.equal(set.has(parseContentId('00ff')), false)
    set.add(parseContentId('00ff'))
    set.add(parseContentId('00ff00ff'))
    assert.equal(set.has(parseContentId('00ff00ff')), true)
    assert.equal(set.has(parseContentId('00ff00')), false)
    assert.equal(set.size, 2)
  })
})

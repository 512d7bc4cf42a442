import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseKeyValues } from './key-values.ts'

describe('parseKeyValues', () => {
  it('splits at the first separator of each entry', () => {
    assert.deepEqual(parseKeyValues('region=eu,s3Url=http://x?a=b,empty='), {
      region: 'eu',
      s3Url: 'http://x?a=b',
      empty: '',
    })
  })

  it('keeps commas and quotes of a quoted entry', () => {
    assert.deepEqual(parseKeyValues('"tagging=a=1,b=""2""",region=eu'), {
      tagging: 'a=1,b="2"',
      region: 'eu',
    })
  })

  for (const text of ['a', 'a=1,b', '', 'a=1,,b=2', '"a=1', 'a="1"', '"a=1"b']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.equal(parseKeyValues(text), undefined)
    })
  }
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatLabelSelector, parseLabelSelector, parseOrSelectors } from './label-selector.ts'

describe('parseLabelSelector', () => {
  it('reads exact labels and conditions, sorted by key', () => {
    assert.deepEqual(parseLabelSelector('selector', 'b == c, z notin (y,x), !d , e,a in ( q ),empty='), {
      matchLabels: { b: 'c', empty: '' },
      matchExpressions: [
        { key: 'a', operator: 'In', values: ['q'] },
        { key: 'd', operator: 'DoesNotExist' },
        { key: 'e', operator: 'Exists' },
        { key: 'z', operator: 'NotIn', values: ['x', 'y'] },
      ],
    })
    assert.deepEqual(parseLabelSelector('selector', 'a!=b'), {
      matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }],
    })
    assert.deepEqual(parseLabelSelector('selector', ''), {})
  })

  for (const text of [
    'a>1',
    'a<1',
    'a=b,',
    'a b',
    '=b',
    'a=b=c',
    'a=-b',
    `${'k'.repeat(64)}=a`,
    'Up/k=a',
    'a in b',
  ]) {
    it(`refuses ${text}`, () => {
      assert.throws(() => parseLabelSelector('selector', text), { code: 'USAGE', message: /--selector/ })
    })
  }

  it('reads selectors separated by or', () => {
    assert.deepEqual(parseOrSelectors('or-selector', 'a=b or c=d,e'), [
      { matchLabels: { a: 'b' } },
      { matchLabels: { c: 'd' }, matchExpressions: [{ key: 'e', operator: 'Exists' }] },
    ])
  })
})

describe('formatLabelSelector', () => {
  it('writes what can be read again', () => {
    for (const text of ['a=b', 'a in (b,c)', 'a notin (b)', '!a', 'a', 'a=b,c,!d,x/y in (z)']) {
      assert.equal(formatLabelSelector(parseLabelSelector('selector', text)), text)
    }
  })

  it('has words for no selector and for an invalid one', () => {
    assert.equal(formatLabelSelector(undefined), '<none>')
    assert.equal(formatLabelSelector(null), '<none>')
    assert.equal(formatLabelSelector({ matchLabels: {} }), '<none>')
    assert.equal(
      formatLabelSelector({ matchExpressions: [{ key: 'a', operator: 'Like', values: [] }] }),
      '<error>',
    )
    assert.equal(
      formatLabelSelector({ matchExpressions: [{ key: 'a', operator: 'In', values: [] }] }),
      '<error>',
    )
    assert.equal(formatLabelSelector({ matchLabels: { a: 'b c' } }), '<error>')
  })
})

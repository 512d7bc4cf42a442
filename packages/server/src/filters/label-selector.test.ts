import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  effectiveSelectors,
  InvalidSelectorError,
  matchesSelector,
  parseSelector,
  selectorOf,
} from './label-selector.ts'

const web = { app: 'web', tier: 'front', size: '10' }

describe('parseSelector', () => {
  const cases = [
    { text: '', matches: true },
    { text: 'app=web', matches: true },
    { text: 'app==web', matches: true },
    { text: ' app = web , tier', matches: true },
    { text: 'app!=web', matches: false },
    { text: 'color!=red', matches: true },
    { text: 'app in (db, web)', matches: true },
    { text: 'app in(db)', matches: false },
    { text: 'app notin (db,cache)', matches: true },
    { text: 'color notin (red)', matches: true },
    { text: 'color', matches: false },
    { text: '!color', matches: true },
    { text: '!app', matches: false },
    { text: 'size>9', matches: true },
    { text: 'size<10', matches: false },
    { text: 'app>1', matches: false },
    { text: 'color=', matches: false },
    { text: 'app in (web),tier in (front,back),!test', matches: true },
  ]
  for (const { text, matches } of cases) {
    it(`reads ${JSON.stringify(text)}`, () => assert.equal(matchesSelector(text, web), matches))
  }

  const invalid = [
    'app=web,',
    'app in ()(',
    'app in web',
    '=web',
    'a b',
    'app=we b',
    'app=bad!',
    'x/y/z',
    '-a',
    'a>b',
  ]
  for (const text of [...invalid, `a=${'x'.repeat(64)}`, `${'x'.repeat(64)}=a`]) {
    it(`refuses ${JSON.stringify(text.slice(0, 20))}`, () => {
      assert.throws(() => parseSelector(text), InvalidSelectorError)
    })
  }

  it('treats an object without labels as one with none', () => {
    assert.equal(parseSelector('!app').matches(undefined), true)
    assert.equal(parseSelector('app').matches(undefined), false)
  })

  it('does not take properties of every object for labels', () => {
    assert.equal(parseSelector('constructor').matches({}), false)
  })
})

describe('selectorOf', () => {
  it('matches everything without conditions', () => {
    assert.equal(selectorOf({}).text, '')
    assert.equal(matchesSelector({ matchLabels: {}, matchExpressions: [] }, web), true)
  })

  it('writes conditions in the order of their keys', () => {
    const { text } = selectorOf({
      matchLabels: { tier: 'front', app: 'web' },
      matchExpressions: [
        { key: 'zone', operator: 'In', values: ['b', 'a', 'b'] },
        { key: 'old', operator: 'DoesNotExist' },
        { key: 'env', operator: 'NotIn', values: ['test'] },
        { key: 'size', operator: 'Exists', values: [] },
      ],
    })
    assert.equal(text, 'app=web,env notin (test),!old,size,tier=front,zone in (a,b)')
  })

  it('names everything that is wrong', () => {
    const selector = {
      matchLabels: { 'bad key': 'x' },
      matchExpressions: [
        { key: 'a', operator: 'In', values: [] },
        { key: 'b', operator: 'Exists', values: ['v'] },
      ],
    }
    assert.throws(() => selectorOf(selector), {
      name: 'InvalidSelectorError',
      message:
        "\"bad key\" is not a valid label key; a: for 'in', 'notin' operators, values set can't be empty; " +
        'b: values set must be empty for exists and does not exist',
    })
  })

  it('refuses an operator that Kubernetes does not have', () => {
    assert.throws(() => selectorOf({ matchExpressions: [{ key: 'a', operator: 'Like', values: ['b'] }] }), {
      message: '"Like" is not a valid label selector operator',
    })
    assert.throws(() => selectorOf({ matchExpressions: [{ key: 'a', operator: 'constructor' }] }))
  })

  it('means the same as its own text', () => {
    const key = fc.constantFrom('a', 'b', 'x.io/c')
    const value = fc.constantFrom('1', '2', '')
    const values = fc.array(value, { minLength: 1, maxLength: 3 })
    const expression = fc.oneof(
      fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values }),
      fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
    )
    const selector = fc.record({
      matchLabels: fc.dictionary(key, value),
      matchExpressions: fc.array(expression, { maxLength: 3 }),
    })
    fc.assert(
      fc.property(selector, fc.dictionary(key, value), (each, labels) => {
        const { text } = selectorOf(each)
        assert.equal(parseSelector(text).text, text)
        assert.equal(matchesSelector(text, labels), matchesSelector(each, labels))
      }),
    )
  })
})

describe('effectiveSelectors', () => {
  it('needs each selector once', () => {
    const texts = effectiveSelectors([
      { matchLabels: { a: '1' } },
      { matchLabels: { b: '2' } },
      { matchLabels: { a: '1' } },
    ])
    assert.deepEqual(
      texts.map(({ text }) => text),
      ['a=1', 'b=2'],
    )
  })

  it('needs none when one of them matches everything', () => {
    assert.deepEqual(effectiveSelectors([{ matchLabels: { a: '1' } }, {}]), [])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FlagSet } from '../tree/flag.ts'
import { readFlagValues } from './flag-values.ts'

const flags: FlagSet = {
  text: { type: 'string', help: '' },
  mode: { type: 'choice', help: '', default: 'a', choices: ['a', 'b'] },
  on: { type: 'boolean', help: '' },
  maybe: { type: 'optional-boolean', help: '' },
  wait: { type: 'duration', help: '', default: '5s' },
  count: { type: 'integer', help: '' },
  rate: { type: 'number', help: '' },
  map: { type: 'map', help: '' },
  pairs: { type: 'map', help: '', pairSeparator: ':' },
  list: { type: 'list', help: '' },
  names: { type: 'list', help: '', default: '*', emptyItem: true },
}

function read(given: Record<string, string[]>) {
  return readFlagValues(flags, new Map(Object.entries(given)))
}

describe('readFlagValues', () => {
  it('fills in defaults and empty values', () => {
    const { wait, ...values } = read({})
    assert.deepEqual(values, {
      text: undefined,
      mode: 'a',
      on: false,
      maybe: undefined,
      count: undefined,
      rate: undefined,
      map: {},
      pairs: {},
      list: [],
      names: ['*'],
    })
    assert.equal((wait as { text: string }).text, '5s')
  })

  it('takes the last text of flags that have one value', () => {
    assert.equal(read({ text: ['x', 'y'] }).text, 'y')
    assert.equal(read({ on: ['true', 'false'] }).on, false)
  })

  it('adds up maps and lists', () => {
    assert.deepEqual(read({ map: ['a=1,b=2', 'b=3'] }).map, { a: '1', b: '3' })
    assert.deepEqual(read({ pairs: ['aws:default,gcp:x:y'] }).pairs, { aws: 'default', gcp: 'x:y' })
    assert.deepEqual(read({ list: ['a,b', 'c'] }).list, ['a', 'b', 'c'])
  })

  it('puts lists in the place of their default, and knows when an empty text is an item', () => {
    assert.deepEqual(read({ names: ['a', 'b,c'] }).names, ['a', 'b', 'c'])
    assert.deepEqual(read({ names: [''] }).names, [''])
    assert.deepEqual(read({ list: [''] }).list, [])
  })

  it('takes an empty optional boolean back', () => {
    assert.equal(read({ maybe: ['true', ''] }).maybe, undefined)
  })

  it('reads what Go calls a boolean', () => {
    for (const text of ['1', 't', 'T', 'true', 'TRUE', 'True'])
      assert.equal(read({ maybe: [text] }).maybe, true)
    for (const text of ['0', 'f', 'F', 'false', 'FALSE', 'False'])
      assert.equal(read({ maybe: [text] }).maybe, false)
  })

  const refused: [string, string, RegExp][] = [
    ['mode', 'c', /--mode must be one of a, b, and "c" is not/],
    ['on', 'yes', /--on must be true or false, and "yes" is not/],
    ['wait', '5', /--wait must be a duration such as .*, and "5" is not/],
    ['count', '1.5', /--count must be a whole number, and "1.5" is not/],
    ['rate', 'fast', /--rate must be a number, and "fast" is not/],
    ['map', 'a', /--map must look like key1=value1,key2=value2, and "a" is not/],
    ['pairs', 'a=b', /--pairs must look like key1:value1,key2:value2, and "a=b" is not/],
  ]
  for (const [name, text, message] of refused) {
    it(`refuses ${text} for ${name} and says what is expected`, () => {
      assert.throws(() => read({ [name]: [text] }), message)
    })
  }
})

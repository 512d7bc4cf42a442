import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultPriorities, formatPriorities, parsePriorities } from './priorities.ts'

const { high, low } = defaultPriorities

describe('parsePriorities', () => {
  const cases = {
    '': { high, low },
    '-': { high, low },
    'a,b': { high: ['a', 'b'], low },
    'a,b,-': { high: ['a', 'b'], low },
    '-,y,z': { high, low: ['y', 'z'] },
    'a, b,-,y,z': { high: ['a', 'b'], low: ['y', 'z'] },
  }
  for (const [text, expected] of Object.entries(cases)) {
    it(`reads ${JSON.stringify(text)}, and takes the default for what is not said`, () => {
      assert.deepEqual(parsePriorities(text), expected)
    })
  }

  it('reads what it writes', () => {
    assert.deepEqual(parsePriorities(formatPriorities(defaultPriorities)), defaultPriorities)
    assert.equal(formatPriorities({ high: ['a'], low: ['b'] }), 'a,-,b')
    assert.equal(formatPriorities({ high: ['a'], low: [] }), 'a')
  })

  for (const text of ['a,-,b,-,c', '-,-', 'a,,b', ',']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => parsePriorities(text), {
        name: 'InvalidPrioritiesError',
        code: 'INVALID_PRIORITIES',
      })
    })
  }
})

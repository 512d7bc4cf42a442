import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { allKinds } from '../all-kinds.ts'
import {
  array,
  boolean,
  bytes,
  duration,
  enumeration,
  integer,
  map,
  nullable,
  object,
  required,
  string,
  time,
} from './build.ts'
import { checkValue } from './check-value.ts'

const schema = object('', {
  name: required(string('')),
  mode: enumeration('', ['a', 'b', '']),
  count: integer(''),
  on: boolean(''),
  every: duration(''),
  at: time(''),
  blob: bytes(''),
  tags: map(''),
  list: nullable(array('', object('', { key: required(string('')) }), { minItems: 1 })),
})

function reasons(value: unknown): Record<string, string> {
  return Object.fromEntries(checkValue(schema, value).map(({ path, reason }) => [path, reason]))
}

describe('checking a value against its schema', () => {
  it('finds nothing in one that matches', () => {
    const value = {
      name: 'n',
      mode: '',
      count: 3,
      on: false,
      every: '10m',
      at: '2026-01-02T03:04:05Z',
      blob: 'aGk=',
      tags: { any: 'text' },
      list: [{ key: 'k' }],
    }
    assert.deepEqual(checkValue(schema, value), [])
    assert.deepEqual(checkValue(schema, { name: 'n', at: null, list: null, every: '' }), [])
  })

  it('names each place that does not match, and why', () => {
    const value = {
      mode: 'c',
      count: 1.5,
      on: 'yes',
      every: 'soon',
      at: 'yesterday',
      blob: '%',
      tags: { bad: 1 },
      list: [{ key: 'k' }, {}, 'x'],
    }
    assert.deepEqual(reasons(value), {
      name: 'is missing',
      mode: "'c' is none of a, b, ''",
      count: 'must be a whole number, not number',
      on: 'must be true or false, not string',
      every: "'soon' is not a duration; write one such as 10m, 1h30m or 720h0m0s",
      at: "'yesterday' is not a time; write one such as 2026-01-02T03:04:05Z",
      blob: 'must be base64',
      'tags.bad': 'must be text, not number',
      'list[1].key': 'is missing',
      'list[2]': 'must be an object, not string',
    })
  })

  it('refuses null where the schema does not allow it, and lists that are too short', () => {
    assert.deepEqual(reasons({ name: null, list: [] }), {
      name: 'must not be null',
      list: 'must have at least 1 item(s)',
    })
  })

  it('ignores fields the schema does not know, even with names that every object has', () => {
    assert.deepEqual(checkValue(schema, JSON.parse('{"name":"n","constructor":1,"__proto__":2}')), [])
  })

  it('stops at the limit however many problems there are', () => {
    const list = Array.from({ length: 100_000 }, () => ({}))
    assert.equal(checkValue(schema, { name: 'n', list }, { limit: 7 }).length, 7)
    assert.equal(checkValue(schema, { name: 'n', list }, { path: 'spec' })[0]?.path, 'spec.list[0].key')
  })

  it('answers for any JSON whatever, without throwing and within the limit', () => {
    const schemas = allKinds.flatMap(kind => [kind.schema.spec, kind.schema.status])
    fc.assert(
      fc.property(fc.constantFrom(...schemas), fc.jsonValue(), (any, value) => {
        assert.ok(checkValue(any, value).length <= 20)
      }),
    )
  })
})

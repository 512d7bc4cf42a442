import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { array, map, nullable, object, string } from './build.ts'
import { withDefaults } from './with-defaults.ts'

const entry = object('', { name: string('', { default: 'none' }), other: string('') })
const schema = object('', {
  entry,
  list: array('', entry),
  maybe: nullable(string('', { default: 'd' })),
  tags: map(''),
})

describe('filling in defaults', () => {
  it('fills missing fields of objects that are there, also in lists', () => {
    assert.deepEqual(withDefaults(schema, { entry: {}, list: [{ other: 'o' }, { name: 'n' }] }), {
      entry: { name: 'none' },
      list: [{ name: 'none', other: 'o' }, { name: 'n' }],
      maybe: 'd',
    })
  })

  it('does not make objects that are missing', () => {
    assert.deepEqual(withDefaults(schema, { maybe: 'm' }), { maybe: 'm' })
  })

  it('drops null where null is not allowed, before it looks for what is missing', () => {
    const value = { entry: { name: null, other: null }, maybe: null, tags: { a: null, b: 'b' } }
    assert.deepEqual(withDefaults(schema, value), { entry: { name: 'none' }, maybe: null, tags: { b: 'b' } })
  })

  it('keeps null in lists, which have no field to drop', () => {
    assert.deepEqual(withDefaults(schema, { list: [null], maybe: null }), { list: [null], maybe: null })
  })

  it('keeps what the schema does not know', () => {
    const value = JSON.parse('{"unknown":null,"__proto__":{"x":1},"maybe":null}')
    assert.deepEqual(Object.entries(withDefaults(schema, value) as object), Object.entries(value))
  })

  it('leaves the given value alone, and changes nothing the second time', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const before = structuredClone(value)
        const once = withDefaults(schema, value)
        assert.deepEqual(value, before)
        assert.deepEqual(withDefaults(schema, once), once)
      }),
    )
  })
})

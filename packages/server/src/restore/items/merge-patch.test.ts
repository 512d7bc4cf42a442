import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseItem } from '../../item/item-json.ts'
import { mergePatchBetween } from './merge-patch.ts'
import { sameJson } from './same-json.ts'

// Section 2 of RFC 7386.
function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result = new Map(
    typeof target === 'object' && target !== null && !Array.isArray(target) ? Object.entries(target) : [],
  )
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, applyMergePatch(result.get(name), value))
  }
  return Object.fromEntries(result)
}

// A merge patch cannot say null, and Kubernetes drops such fields.
const key = fc.constantFrom('a', 'b', 'c', 'd')
const { object } = fc.letrec<{ object: Record<string, unknown>; value: unknown }>(tie => ({
  object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof(
    { depthSize: 'small' },
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom('x', 'y', true),
    fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }),
    tie('object'),
  ),
}))

describe('mergePatchBetween', () => {
  it('makes one object out of the other, whatever they are', () => {
    fc.assert(
      fc.property(object, object, (from, to) => {
        const patch = mergePatchBetween(from, to)
        assert.deepEqual(applyMergePatch(from, patch ?? {}), { ...to })
      }),
    )
  })

  it('is nothing for what is the same, in whatever order its keys are', () => {
    assert.equal(mergePatchBetween({ a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 }), undefined)
  })

  it('names only what differs, removes with null, and replaces lists', () => {
    assert.deepEqual(
      mergePatchBetween(
        { metadata: { labels: { a: '1', b: '2' } }, spec: { list: [1, 2], same: true } },
        { metadata: { labels: { a: '1', c: '3' } }, spec: { list: [1], same: true } },
      ),
      { metadata: { labels: { b: null, c: '3' } }, spec: { list: [1] } },
    )
  })

  it('sends long integers as they are written', () => {
    const text = '{"apiVersion":"v1","kind":"A","metadata":{},"spec":{"n":9007199254740993}}'
    const to = parseItem(Buffer.from(text))
    const patch = mergePatchBetween({ ...to, spec: { n: 1 } }, to)
    assert.equal(JSON.stringify(patch), '{"spec":{"n":9007199254740993}}')
  })
})

describe('sameJson', () => {
  it('takes a long integer for the number that plain reading makes of it', () => {
    const text = '{"apiVersion":"v1","kind":"A","metadata":{},"n":9007199254740993}'
    assert.ok(sameJson(parseItem(Buffer.from(text)), JSON.parse(text)))
    assert.ok(!sameJson(parseItem(Buffer.from(text)), { ...JSON.parse(text), n: 5 }))
  })

  it('tells an absent field from an empty one', () => {
    assert.ok(!sameJson({}, { a: {} }))
    assert.ok(!sameJson({ a: undefined }, { b: undefined }))
    assert.ok(!sameJson([], {}))
  })
})

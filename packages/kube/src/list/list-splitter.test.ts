import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ListSplitter } from './list-splitter.ts'

/** Feeds `text` cut at the given byte positions and returns what comes out. */
function split(text: string, cuts: readonly number[] = []) {
  const bytes = Buffer.from(text)
  const splitter = new ListSplitter()
  const items: unknown[] = []
  const edges = [0, ...cuts.map(cut => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  for (let i = 1; i < edges.length; i++) {
    for (const item of splitter.push(bytes.subarray(edges[i - 1], edges[i])))
      items.push(JSON.parse(item.toString()))
  }
  return { items, splitter }
}

const cuts = fc.array(fc.nat(), { maxLength: 40 })
const field = fc.string({ unit: 'grapheme' }).filter(name => name !== 'items' && name !== '__proto__')
const list = fc.record({
  before: fc.dictionary(field, fc.jsonValue({ noUnicodeString: false }), { maxKeys: 3 }),
  items: fc.oneof(
    { weight: 5, arbitrary: fc.array(fc.jsonValue({ noUnicodeString: false })) },
    fc.jsonValue(),
  ),
  after: fc.dictionary(field, fc.jsonValue({ noUnicodeString: false }), { maxKeys: 3 }),
})
const indent = fc.constantFrom(undefined, 1, '\t')

describe('The list splitter', () => {
  it('finds the same items as JSON.parse in any list, however it is written and cut', () => {
    fc.assert(
      fc.property(list, indent, cuts, ({ before, items, after }, space, at) => {
        const whole = { ...before, items, ...after }
        const text = JSON.stringify(whole, null, space)
        const result = split(text, at)
        assert.ok(result.splitter.complete)
        const parsed = JSON.parse(text)
        assert.deepEqual(result.items, Array.isArray(parsed.items) ? parsed.items : [])
        if (Array.isArray(parsed.items)) parsed.items = []
        assert.deepEqual(result.splitter.envelope(), parsed)
      }),
      { numRuns: 500 },
    )
  })

  it('gives the same result byte by byte as in one piece', () => {
    const text = '{"a":{"items":[1]},"items":[{"x":"]}\\\\\\"é😀"},[[]],"s\\"","",null,-1.5e3],"metadata":{}}'
    const everywhere = Array.from({ length: Buffer.byteLength(text) }, (_, index) => index)
    assert.deepEqual(split(text, everywhere).items, split(text).items)
    assert.deepEqual(split(text).items, JSON.parse(text).items)
  })

  it('never takes a list that was cut anywhere for a complete one', () => {
    fc.assert(
      fc.property(list, fc.nat(), ({ before, items, after }, cut) => {
        const bytes = Buffer.from(JSON.stringify({ ...before, items, ...after }))
        const splitter = new ListSplitter()
        splitter.push(bytes.subarray(0, cut % bytes.length))
        assert.equal(splitter.complete, false)
      }),
    )
  })

  it('does not confuse an items key with text that looks like one', () => {
    const text = JSON.stringify({
      'a{"items":': [1],
      b: '"items":[2]',
      c: { items: [3] },
      ',"items"': [4],
      items: [5],
    })
    assert.deepEqual(split(text).items, [5])
  })

  it('knows the version and the continue token as soon as the items begin', () => {
    const splitter = new ListSplitter()
    splitter.push(
      Buffer.from('{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"next"},"items":[{"x"'),
    )
    assert.ok(splitter.headComplete)
    assert.deepEqual(splitter.head().metadata, { resourceVersion: '7', continue: 'next' })
  })

  it('knows them at the end when the items come first', () => {
    const { items, splitter } = split('{"items":[{"x":1}],"metadata":{"continue":"next"}}')
    assert.deepEqual(items, [{ x: 1 }])
    assert.deepEqual(splitter.envelope().metadata, { continue: 'next' })
  })

  it('finds no items in null', () => {
    const { items, splitter } = split('{"metadata":{},"items":null}')
    assert.deepEqual(items, [])
    assert.ok(splitter.complete)
  })

  it('refuses to hold an item without end', () => {
    const splitter = new ListSplitter({ maxHeldBytes: 1000 })
    splitter.push(Buffer.from('{"items":["'))
    assert.throws(() => {
      for (let i = 0; i < 100; i++) splitter.push(Buffer.alloc(100, 'x'))
    }, RangeError)
  })
})

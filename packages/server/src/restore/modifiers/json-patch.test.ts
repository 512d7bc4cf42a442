import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  applyJsonPatch,
  type JsonOperation,
  JsonPatchError,
  type Pointer,
  parsePointer,
} from './json-patch.ts'
import { mergeInto } from './merge-into.ts'
import { parsePatchValue } from './patch-value.ts'

function at(text: string): Pointer {
  const pointer = parsePointer(text)
  assert.ok(pointer)
  return pointer
}

function patched(document: Record<string, unknown>, ...operations: JsonOperation[]): unknown {
  applyJsonPatch(document, operations)
  return document
}

const code = (wanted: string) => (error: unknown) => error instanceof JsonPatchError && error.code === wanted

describe('a JSON patch that copies its own copies', () => {
  it('is stopped before it fills memory', () => {
    const copies = Array.from({ length: 64 }, (_, index): JsonOperation => {
      return { op: 'copy', from: at('/data'), path: at(`/data/x${index}`) }
    })
    const document = { data: { text: 'x'.repeat(100) } }
    assert.throws(() => applyJsonPatch(document, copies), code('JSON_PATCH_TOO_LARGE'))
    assert.ok(JSON.stringify(document).length < 8 << 20)
  })

  it('copies what an object may have', () => {
    const document = { data: 'x'.repeat(1 << 20) }
    applyJsonPatch(document, [{ op: 'copy', from: at('/data'), path: at('/more') }])
    assert.deepEqual(Object.keys(document), ['data', 'more'])
  })
})

describe('applyJsonPatch', () => {
  const cases: { what: string; before: Record<string, unknown>; operation: JsonOperation; after: unknown }[] =
    [
      {
        what: 'adds a field',
        before: { a: 1 },
        operation: { op: 'add', path: at('/b'), value: 2 },
        after: { a: 1, b: 2 },
      },
      {
        what: 'overwrites on add',
        before: { a: 1 },
        operation: { op: 'add', path: at('/a'), value: 2 },
        after: { a: 2 },
      },
      {
        what: 'inserts into a list',
        before: { a: [1, 3] },
        operation: { op: 'add', path: at('/a/1'), value: 2 },
        after: { a: [1, 2, 3] },
      },
      {
        what: 'appends with -',
        before: { a: [1] },
        operation: { op: 'add', path: at('/a/-'), value: 2 },
        after: { a: [1, 2] },
      },
      {
        what: 'appends with -1',
        before: { a: [1] },
        operation: { op: 'add', path: at('/a/-1'), value: 2 },
        after: { a: [1, 2] },
      },
      {
        what: 'replaces the last element',
        before: { a: [1, 2] },
        operation: { op: 'replace', path: at('/a/-1'), value: 3 },
        after: { a: [1, 3] },
      },
      {
        what: 'removes',
        before: { a: { b: 1, c: 2 } },
        operation: { op: 'remove', path: at('/a/b') },
        after: { a: { c: 2 } },
      },
      {
        what: 'reads ~1 and ~0',
        before: { 'a/b': { '~1': 1 } },
        operation: { op: 'remove', path: at('/a~1b/~01') },
        after: { 'a/b': {} },
      },
      {
        what: 'moves',
        before: { a: [1, 2], b: {} },
        operation: { op: 'move', from: at('/a/0'), path: at('/b/x') },
        after: { a: [2], b: { x: 1 } },
      },
      {
        what: 'copies',
        before: { a: { x: [1] } },
        operation: { op: 'copy', from: at('/a'), path: at('/a/y') },
        after: { a: { x: [1], y: { x: [1] } } },
      },
      {
        what: 'takes an absent field for null',
        before: {},
        operation: { op: 'test', path: at('/a'), value: null },
        after: {},
      },
    ]
  for (const { what, before, operation, after } of cases) {
    it(what, () => assert.deepEqual(patched(before, operation), after))
  }

  it('sets a field called __proto__ like any other', () => {
    const document = patched({}, { op: 'add', path: at('/__proto__'), value: { x: 1 } })
    assert.equal(JSON.stringify(document), '{"__proto__":{"x":1}}')
    assert.throws(
      () => patched({}, { op: 'add', path: at('/__proto__/x'), value: 1 }),
      code('JSON_PATCH_PATH_MISSING'),
    )
  })

  it('keeps nothing of a value that a later object could change', () => {
    const value = { list: [1] }
    patched({}, { op: 'add', path: at('/a'), value }, { op: 'add', path: at('/a/list/-'), value: 2 })
    assert.deepEqual(value, { list: [1] })
  })

  it('tells a test that does not hold from a place that is not there', () => {
    const test = (path: string, value: unknown): JsonOperation => ({ op: 'test', path: at(path), value })
    assert.throws(() => patched({ a: 1 }, test('/a', 2)), code('JSON_PATCH_TEST_FAILED'))
    assert.throws(() => patched({ a: 1 }, test('/b', 2)), code('JSON_PATCH_TEST_FAILED'))
    assert.throws(() => patched({ a: 1 }, test('/b/c', 2)), code('JSON_PATCH_PATH_MISSING'))
    assert.throws(() => patched({ a: [] }, test('/a/0', 2)), code('JSON_PATCH_BAD_INDEX'))
    patched({ a: { x: [1, { y: null }] } }, test('/a', { x: [1, { y: null }] }))
  })

  it('refuses places that are not there', () => {
    const missing: JsonOperation[] = [
      { op: 'replace', path: at('/b'), value: 1 },
      { op: 'remove', path: at('/b') },
      { op: 'add', path: at('/b/c'), value: 1 },
      { op: 'add', path: at('/a/c'), value: 1 },
      { op: 'copy', from: at('/b'), path: at('/c') },
      { op: 'move', from: at('/b'), path: at('/c') },
    ]
    for (const operation of missing)
      assert.throws(() => patched({ a: 1 }, operation), code('JSON_PATCH_PATH_MISSING'))
    for (const index of ['2', '-3', 'x', '']) {
      const operation: JsonOperation = { op: 'remove', path: at(`/a/${index}`) }
      assert.throws(() => patched({ a: [1, 2] }, operation), code('JSON_PATCH_BAD_INDEX'))
    }
  })
})

describe('mergeInto', () => {
  it('merges objects, replaces lists and removes what is null', () => {
    const target = { a: { b: 1, c: 2 }, list: [1, 2], gone: true, text: 'x' }
    mergeInto(target, {
      a: { b: null, d: { e: null, f: 1 } },
      list: [{ g: null, h: 1 }, null],
      gone: null,
      text: { y: null },
    })
    assert.deepEqual(target, { a: { c: 2, d: { f: 1 } }, list: [{ h: 1 }, null], text: {} })
  })
})

describe('parsePatchValue', () => {
  const values: [string, unknown][] = [
    ['', ''],
    ['standard', 'standard'],
    ['null', null],
    ['true', true],
    ['false', false],
    ['"true"', 'true'],
    ['"null"', 'null'],
    ['"1"', '1'],
    ['"', ''],
    ['""', ''],
    ['12', 12],
    ['-1.5e3', -1500],
    ['1e400', '1e400'],
    ['1__0', '1__0'],
    ['{"a": [1]}', { a: [1] }],
    ['[]', []],
    ['a\\nb', 'a\nb'],
    ['Null', 'Null'],
  ]
  for (const [text, value] of values) {
    it(`takes ${JSON.stringify(text)} for ${JSON.stringify(value)}`, () => {
      assert.deepEqual(parsePatchValue(text), { value })
    })
  }

  for (const text of [
    'True',
    '007',
    '+1',
    '1_000',
    '0x1p4',
    '.5',
    'NaN',
    'inf',
    '{',
    '[1,]',
    'say "hi"',
    'C:\\dir',
    'a\nb',
  ]) {
    const problem = 'problem' in parsePatchValue(text)
    it(`refuses ${JSON.stringify(text)}, which Velero cannot put into JSON`, () => assert.ok(problem))
  }
})

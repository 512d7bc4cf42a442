import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ObjectsResult } from './command-result.ts'
import { encodeObjects } from './encode.ts'

function result(...objects: object[]): ObjectsResult {
  return { show: 'objects', format: 'yaml', listKind: { apiVersion: 'v1', kind: 'List' }, objects }
}

describe('encodeObjects', () => {
  it('prints one object as itself', async () => {
    assert.deepEqual(JSON.parse(await encodeObjects(result({ a: 1 }), 'json')), { a: 1 })
    assert.equal(await encodeObjects(result({ b: ['x'], a: '1' }), 'yaml'), 'a: "1"\nb:\n- x\n')
  })

  it('prints several objects, or none, as a list', async () => {
    assert.deepEqual(JSON.parse(await encodeObjects(result({ a: 1 }, { b: 2 }), 'json')), {
      apiVersion: 'v1',
      kind: 'List',
      metadata: {},
      items: [{ a: 1 }, { b: 2 }],
    })
    assert.equal(
      await encodeObjects(result(), 'yaml'),
      'apiVersion: v1\nitems: []\nkind: List\nmetadata: {}\n',
    )
  })

  it('repeats an object that occurs twice instead of referring to it', async () => {
    const shared = { x: 'y' }
    assert.equal(await encodeObjects(result({ a: shared, b: shared }), 'yaml'), 'a:\n  x: y\nb:\n  x: y\n')
  })
})

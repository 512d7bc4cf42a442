import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { joinKey, keyOf, splitKey } from './object-key.ts'

describe('object keys', () => {
  it('name a namespaced object by namespace and name', () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'shop', name: 'web-0' } }
    assert.equal(keyOf(pod), 'shop/web-0')
  })

  it('name a cluster-scoped object by its name', () => {
    assert.equal(keyOf({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }), 'n1')
  })

  it('split into the parts they were joined from', () => {
    for (const parts of [{ namespace: 'shop', name: 'web-0' }, { name: 'n1' }]) {
      assert.deepEqual(splitKey(joinKey(parts)), parts)
    }
  })
})

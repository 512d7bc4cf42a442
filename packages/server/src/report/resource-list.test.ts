import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { resourceListOf } from './resource-list.ts'

describe('The resource list', () => {
  it('groups by version and kind and sorts both', () => {
    assert.deepEqual(
      Object.entries(
        resourceListOf([
          { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web' },
          { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' },
          { apiVersion: 'v1', kind: 'Namespace', namespace: '', name: 'shop' },
          { apiVersion: 'v1', kind: 'Pod', namespace: 'a', name: 'z' },
        ]),
      ),
      [
        ['apps/v1/Deployment', ['shop/web']],
        ['v1/Namespace', ['shop']],
        ['v1/Pod', ['a/z', 'shop/web']],
      ],
    )
  })
})

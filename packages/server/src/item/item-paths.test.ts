import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { groupResource } from './item.ts'
import { itemPaths } from './item-paths.ts'

const deployments = groupResource({ group: 'apps', plural: 'deployments' })
const namespaces = groupResource({ group: '', plural: 'namespaces' })

describe('The paths of an item', () => {
  it('are two for the preferred version: with the version and without', () => {
    const item = {
      groupResource: deployments,
      namespace: 'shop',
      name: 'web',
      version: 'v1',
      preferred: true,
    }
    assert.deepEqual(itemPaths(item), [
      'resources/deployments.apps/namespaces/shop/web.json',
      'resources/deployments.apps/v1-preferredversion/namespaces/shop/web.json',
    ])
  })

  it('are one for other versions', () => {
    const item = {
      groupResource: deployments,
      namespace: 'shop',
      name: 'web',
      version: 'v1beta1',
      preferred: false,
    }
    assert.deepEqual(itemPaths(item), ['resources/deployments.apps/v1beta1/namespaces/shop/web.json'])
  })

  it('lie in the cluster folder without a namespace, with names as they are', () => {
    const item = {
      groupResource: namespaces,
      namespace: '',
      name: 'system:a b',
      version: 'v1',
      preferred: true,
    }
    assert.deepEqual(itemPaths(item), [
      'resources/namespaces/cluster/system:a b.json',
      'resources/namespaces/v1-preferredversion/cluster/system:a b.json',
    ])
  })
})

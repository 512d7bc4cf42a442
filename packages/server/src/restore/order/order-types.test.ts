import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { resourceResolver } from '../../filters/resource-names.ts'
import { someResources } from '../../filters/testing/some-resources.ts'
import type { GroupResource } from '../../item/item.ts'
import { orderTypes } from './order-types.ts'
import { defaultPriorities, type Priorities } from './priorities.ts'

const resolve = resourceResolver(someResources)

function order(names: readonly string[], priorities: Priorities = defaultPriorities): string[] {
  const types = names.map(name => ({ groupResource: name as GroupResource }))
  return orderTypes({ types, priorities, resolve }).flatMap(tier => tier.types)
}

describe('orderTypes', () => {
  it('puts high priorities first, then all others by name, then low priorities', () => {
    const types = [
      'packageinstalls.packaging.carvel.dev',
      'clusters.cluster.x-k8s.io',
      'widgets.example.com',
      'deployments.apps',
      'services',
      'pods',
      'namespaces',
      'customresourcedefinitions.apiextensions.k8s.io',
      'storageclasses.storage.k8s.io',
      'persistentvolumes',
    ]
    assert.deepEqual(order(types), [
      'customresourcedefinitions.apiextensions.k8s.io',
      'namespaces',
      'storageclasses.storage.k8s.io',
      'persistentvolumes',
      'pods',
      'services',
      'deployments.apps',
      'widgets.example.com',
      'clusters.cluster.x-k8s.io',
      'packageinstalls.packaging.carvel.dev',
    ])
  })

  it('keeps each type in a tier of its own and says of which priority it is', () => {
    const types = ['pods', 'b', 'a', 'clusters.cluster.x-k8s.io'].map(name => ({
      groupResource: name as GroupResource,
    }))
    assert.deepEqual(orderTypes({ types, priorities: defaultPriorities, resolve }), [
      { level: 'high', types: ['pods'] },
      { level: 'other', types: ['a'] },
      { level: 'other', types: ['b'] },
      { level: 'low', types: ['clusters.cluster.x-k8s.io'] },
    ])
  })

  it('understands names as users write them, in either part', () => {
    const priorities = { high: ['po', 'Secret'], low: ['deploy', 'cm'] }
    assert.deepEqual(order(['configmaps', 'deployments.apps', 'pods', 'secrets', 'x'], priorities), [
      'pods',
      'secrets',
      'x',
      'deployments.apps',
      'configmaps',
    ])
  })

  it('takes a type that is in both parts as one of high priority', () => {
    assert.deepEqual(order(['a', 'pods'], { high: ['pods', 'po'], low: ['pods'] }), ['pods', 'a'])
  })

  it('restores every type once, whatever the priorities', () => {
    const name = fc.constantFrom(
      'pods',
      'po',
      'secrets',
      'configmaps',
      'a',
      'b',
      'deployments.apps',
      'deploy',
    )
    const types = fc.uniqueArray(
      fc.constantFrom('pods', 'secrets', 'configmaps', 'a', 'b', 'deployments.apps'),
    )
    fc.assert(
      fc.property(types, fc.array(name), fc.array(name), (all, high, low) => {
        assert.deepEqual(new Set(order(all, { high, low })), new Set(all))
        assert.equal(order(all, { high, low }).length, all.length)
      }),
    )
  })
})

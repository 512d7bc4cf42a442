import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ResourceType, Unstructured } from '@lateen/kube'
import type { BackupScope } from '../../filters/scope.ts'
import { groupResource, type ItemRef } from '../../item/item.ts'
import { createInclusion } from './inclusion.ts'

/** Takes namespace shop, all types but secrets and nodes, and of config maps those whose name starts with app. */
const scope: BackupScope = {
  namespaces: { all: false, wide: false, names: ['shop'], missing: [], includes: name => name === 'shop' },
  resources: {
    collects: ({ groupResource: name }) => !['secrets', 'nodes'].includes(name),
    admits: ({ groupResource: name }) => !['secrets', 'nodes'].includes(name),
    excludesByName: () => false,
    includesByName: () => false,
  },
  labelSelectors: [],
  ordered: new Map(),
  warnings: [],
  takesNamespace: () => true,
  fineFilter: ({ groupResource: name }) =>
    name === 'configmaps'
      ? { labelSelectors: undefined, includesName: each => each.startsWith('app') }
      : name === 'services'
        ? 'excluded'
        : undefined,
}

function ref(plural: string, namespace: string, name = 'app'): ItemRef {
  const type: ResourceType<Unstructured> = {
    group: '',
    version: 'v1',
    kind: plural,
    plural,
    namespaced: namespace !== '',
  }
  return { type, groupResource: groupResource(type), namespace, name }
}

describe('the checks of an item', () => {
  const check = (item: ItemRef, metadata: object = {}, mustInclude = false) =>
    createInclusion(scope).exclusionOf({ ref: item, metadata, mustInclude })

  it('look at the label, the namespace, the resource, the name and the deletion, in this order', () => {
    const labels = { 'velero.io/exclude-from-backup': 'true' }
    const deletionTimestamp = '2026-01-01T00:00:00Z'
    assert.equal(check(ref('secrets', 'other'), { labels, deletionTimestamp }), 'excludeLabel')
    assert.equal(check(ref('secrets', 'other'), { deletionTimestamp }), 'namespace')
    assert.equal(check(ref('secrets', 'shop'), { deletionTimestamp }), 'resource')
    assert.equal(check(ref('configmaps', 'shop', 'x'), { deletionTimestamp }), 'name')
    assert.equal(check(ref('configmaps', 'shop'), { deletionTimestamp }), 'terminating')
    assert.equal(check(ref('configmaps', 'shop')), undefined)
    assert.equal(check(ref('nodes', '')), 'resource')
    assert.equal(check(ref('persistentvolumes', '')), undefined)
  })

  it('mind only the deletion of an item that an action insists on', () => {
    const labels = { 'velero.io/exclude-from-backup': 'true' }
    assert.equal(check(ref('secrets', 'other'), { labels }, true), undefined)
    assert.equal(check(ref('pods', 'shop'), { deletionTimestamp: 'x' }, true), 'terminating')
  })

  it('let a type through that the resource policy does not list, because only actions bring it here', () => {
    assert.equal(check(ref('services', 'shop')), undefined)
  })

  it('take a label of another value for none', () => {
    assert.equal(
      check(ref('pods', 'shop'), { labels: { 'velero.io/exclude-from-backup': 'false' } }),
      undefined,
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupSpec } from '@lateen/api'
import fc from 'fast-check'
import type { IncludeExcludePolicy } from '../../filters/policies/resource-policies.ts'
import { resourceResolver } from '../../filters/resource-names.ts'
import type { ScopedType } from '../../filters/scope.ts'
import { someResources } from '../../filters/testing/some-resources.ts'
import type { GroupResource } from '../../item/item.ts'
import { resolveResources, usesOldFilters, usesScopedFilters } from './resource-scope.ts'

const resolve = resourceResolver(someResources)

function type(name: string): ScopedType {
  const found = resolve(name)
  assert.ok(found, name)
  return found
}

interface Options {
  all?: boolean
  policy?: Partial<IncludeExcludePolicy>
}

function scopeOf(spec: BackupSpec, { all = true, policy }: Options = {}) {
  const complete = policy && {
    includedClusterScopedResources: [],
    excludedClusterScopedResources: [],
    includedNamespaceScopedResources: [],
    excludedNamespaceScopedResources: [],
    ...policy,
  }
  return resolveResources({ spec, policy: complete, namespaces: { all }, resolve })
}

describe('the old filters', () => {
  it('are used when one of their fields is set, and the new ones otherwise', () => {
    assert.equal(usesOldFilters({}), false)
    assert.equal(
      usesOldFilters({ includedResources: [], excludedResources: null, includeClusterResources: null }),
      false,
    )
    assert.equal(usesOldFilters({ includedResources: ['pods'] }), true)
    assert.equal(usesOldFilters({ excludedResources: ['pods'] }), true)
    assert.equal(usesOldFilters({ includeClusterResources: false }), true)
    assert.equal(usesScopedFilters({ includedClusterScopedResources: [] }), false)
    assert.equal(usesScopedFilters({ excludedNamespaceScopedResources: ['pods'] }), true)
  })

  const reach = [
    { all: true, flag: undefined, collected: true },
    { all: false, flag: undefined, collected: false },
    { all: true, flag: true, collected: true },
    { all: false, flag: true, collected: true },
    { all: true, flag: false, collected: false },
    { all: false, flag: false, collected: false },
  ]
  for (const { all, flag, collected } of reach) {
    const namespaces = all ? 'all namespaces' : 'some namespaces'
    it(`${collected ? 'collect' : 'do not collect'} cluster scope with ${namespaces} and ${flag ?? 'no'} flag`, () => {
      const scope = scopeOf(
        { excludedResources: ['secrets'], includeClusterResources: flag ?? null },
        { all },
      )
      assert.equal(scope.collects(type('clusterroles')), collected)
      assert.equal(scope.admits(type('clusterroles')), flag !== false)
      assert.equal(scope.collects(type('namespaces')), flag !== false)
      assert.equal(scope.admits(type('namespaces')), true)
      assert.equal(scope.collects(type('pods')), true)
      assert.equal(scope.collects(type('secrets')), false)
    })
  }

  it('keep out what is not included, also when something brings it along', () => {
    const scope = scopeOf({ includedResources: ['po'] }, { all: false })
    assert.equal(scope.collects(type('pods')), true)
    assert.equal(scope.includesByName(type('pods')), true)
    assert.equal(scope.collects(type('secrets')), false)
    assert.equal(scope.admits(type('secrets')), false)
    assert.equal(scope.admits(type('pv')), false)
    assert.equal(scope.excludesByName(type('pv')), true)
    assert.equal(scope.collects(type('namespaces')), false)
  })

  it('let in volumes that are not included when cluster scope is asked for', () => {
    const scope = scopeOf({ includedResources: ['pods'], includeClusterResources: true }, { all: false })
    assert.equal(scope.collects(type('pv')), false)
    assert.equal(scope.admits(type('pv')), true)
    assert.equal(scope.excludesByName(type('pv')), false)
  })

  it('do not call a type named when everything is included', () => {
    const scope = scopeOf({ includedResources: ['*'] })
    assert.equal(scope.collects(type('pods')), true)
    assert.equal(scope.includesByName(type('pods')), false)
  })
})

describe('the new filters', () => {
  it('take everything when nothing is said', () => {
    const scope = scopeOf({})
    for (const name of ['pods', 'clusterroles', 'namespaces'])
      assert.equal(scope.collects(type(name)), true, name)
  })

  it('take cluster scope although snapshots are left out, which Velero does not', () => {
    const scope = scopeOf({
      excludedNamespaceScopedResources: ['volumesnapshots.snapshot.storage.k8s.io'],
      excludedClusterScopedResources: ['volumesnapshotcontents.snapshot.storage.k8s.io'],
    })
    for (const name of ['pods', 'clusterroles', 'storageclasses', 'namespaces'])
      assert.equal(scope.collects(type(name)), true, name)
  })

  it('take cluster scope only when nothing at all is said', () => {
    const others: { spec: BackupSpec; all: boolean }[] = [
      { spec: {}, all: false },
      { spec: { excludedNamespaceScopedResources: ['secrets'] }, all: true },
      { spec: { includedNamespaceScopedResources: ['pods'] }, all: true },
      { spec: { excludedClusterScopedResources: ['storageclasses'] }, all: true },
    ]
    for (const { spec, all } of others) {
      const scope = scopeOf(spec, { all })
      assert.equal(scope.collects(type('clusterroles')), false, JSON.stringify(spec))
      assert.equal(scope.admits(type('clusterroles')), true)
      assert.equal(scope.collects(type('namespaces')), true)
    }
  })

  it('take from cluster scope what is included and what is not excluded', () => {
    const scope = scopeOf({ includedClusterScopedResources: ['sc'] }, { all: false })
    assert.equal(scope.collects(type('sc')), true)
    assert.equal(scope.includesByName(type('sc')), true)
    assert.equal(scope.collects(type('clusterroles')), false)
    const none = scopeOf({ excludedClusterScopedResources: ['*'] })
    assert.equal(none.collects(type('namespaces')), false)
    assert.equal(none.admits(type('pv')), false)
    assert.equal(none.admits(type('namespaces')), true)
    assert.equal(
      scopeOf({ includedClusterScopedResources: ['*'] }, { all: false }).collects(type('clusterroles')),
      true,
    )
  })

  it('look at each scope by its own lists', () => {
    const scope = scopeOf({
      includedNamespaceScopedResources: ['pods'],
      excludedNamespaceScopedResources: ['secrets'],
    })
    assert.equal(scope.collects(type('pods')), true)
    assert.equal(scope.collects(type('configmaps')), false)
    assert.equal(scope.admits(type('configmaps')), false)
    assert.equal(scope.excludesByName(type('configmaps')), false)
    assert.equal(scope.excludesByName(type('secrets')), true)
    assert.equal(scope.admits(type('pv')), true)
  })

  it('are restricted by lists that name only types of the other scope', () => {
    for (const list of [
      { includedClusterScopedResources: ['configmaps'] },
      { excludedClusterScopedResources: ['configmaps'] },
      { includedNamespaceScopedResources: ['persistentvolumes'] },
      { excludedNamespaceScopedResources: ['persistentvolumes'] },
    ]) {
      assert.equal(scopeOf(list).collects(type('storageclasses')), false, JSON.stringify(list))
    }
  })

  it('ignore a type of the other scope', () => {
    const scope = scopeOf({
      includedNamespaceScopedResources: ['pv'],
      excludedClusterScopedResources: ['pods'],
    })
    assert.equal(scope.collects(type('secrets')), true)
    assert.equal(scope.collects(type('pods')), true)
  })

  it('keep an unknown name, so that including it does not include everything', () => {
    const scope = scopeOf({ includedNamespaceScopedResources: ['gone.example.com'] })
    assert.equal(scope.collects(type('pods')), false)
    const gone = { groupResource: 'gone.example.com' as GroupResource, namespaced: true }
    assert.equal(scope.collects(gone), true)
  })
})

describe('the include and exclude lists of a policy', () => {
  it('add to those of the backup', () => {
    const scope = scopeOf(
      { includedNamespaceScopedResources: ['pods'] },
      { policy: { includedNamespaceScopedResources: ['cm'], includedClusterScopedResources: ['sc'] } },
    )
    assert.equal(scope.collects(type('configmaps')), true)
    assert.equal(scope.collects(type('sc')), true)
    assert.equal(scope.collects(type('secrets')), false)
  })

  it('give way to those of the backup', () => {
    const scope = scopeOf(
      { includedNamespaceScopedResources: ['pods'], excludedNamespaceScopedResources: ['secrets'] },
      {
        policy: { includedNamespaceScopedResources: ['secrets'], excludedNamespaceScopedResources: ['pods'] },
      },
    )
    assert.equal(scope.collects(type('pods')), true)
    assert.equal(scope.collects(type('secrets')), false)
  })

  it('exclude before they include', () => {
    const scope = scopeOf(
      {},
      {
        policy: {
          includedNamespaceScopedResources: ['pods', 'secrets'],
          excludedNamespaceScopedResources: ['po'],
        },
      },
    )
    assert.equal(scope.collects(type('secrets')), true)
    assert.equal(scope.collects(type('pods')), false)
  })

  it('do not concern the old filters', () => {
    const scope = scopeOf(
      { includedResources: ['pods'] },
      { policy: { excludedNamespaceScopedResources: ['pods'] } },
    )
    assert.equal(scope.collects(type('pods')), true)
  })
})

describe('resolveResources', () => {
  it('never collects what is excluded by name, and admits what it collects', () => {
    const names = fc.uniqueArray(
      fc.constantFrom('pods', 'pv', 'namespaces', 'deploy', 'sc', '*.apps', 'gone', '*'),
      {
        maxLength: 3,
      },
    )
    const spec = fc.oneof(
      fc.record({
        includedResources: names,
        excludedResources: names,
        includeClusterResources: fc.constantFrom(null, true, false),
      }),
      fc.record({
        includedNamespaceScopedResources: names,
        excludedNamespaceScopedResources: names,
        includedClusterScopedResources: names,
        excludedClusterScopedResources: names,
      }),
    )
    const anyType = fc.constantFrom('pods', 'pv', 'namespaces', 'deployments', 'sc', 'secrets').map(type)
    fc.assert(
      fc.property(spec, fc.boolean(), anyType, (filters, all, each) => {
        const scope = scopeOf(filters, { all })
        if (scope.excludesByName(each)) assert.equal(scope.collects(each), false)
        if (scope.collects(each)) assert.equal(scope.admits(each), true)
      }),
    )
  })
})

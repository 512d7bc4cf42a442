import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RestoreSpec } from '@lateen/api'
import { parsePolicies } from '../../filters/policies/parse-policies.ts'
import { someResources } from '../../filters/testing/some-resources.ts'
import type { GroupResource } from '../../item/item.ts'
import { resolveRestoreScope } from './resolve-restore-scope.ts'
import type { Exclusion, ItemPlace, RestoreScope } from './restore-scope.ts'

const archive = {
  namespaces: ['bank', 'shop', 'team-a'],
  types: [
    'pods',
    'secrets',
    'namespaces',
    'persistentvolumes',
    'gadgets.example.com',
    'datauploads.velero.io',
  ].map(name => ({ groupResource: name as GroupResource, count: 1, versions: [] })),
}

function scopeOf(spec: RestoreSpec, policy?: string): RestoreScope {
  const policies = policy === undefined ? undefined : parsePolicies(policy)
  return resolveRestoreScope({ restore: { spec }, policies, discovery: someResources, archive })
}

function place(groupResource: string, namespace = ''): ItemPlace {
  return { groupResource: groupResource as GroupResource, namespace }
}

interface PlaceCase {
  spec: RestoreSpec
  at: ItemPlace
  excluded: Exclusion | undefined
  /** The same for an object that an action brought along; as `excluded` when absent. */
  additional?: Exclusion | 'none'
}

describe('A place is restored', () => {
  const inShop = place('pods', 'shop')
  const volume = place('persistentvolumes')
  const cases: Record<string, PlaceCase> = {
    'when nothing is said': { spec: {}, at: inShop, excluded: undefined },
    'when its type is included by another name': {
      spec: { includedResources: ['po'] },
      at: inShop,
      excluded: undefined,
    },
    'not when other types are included': {
      spec: { includedResources: ['secrets'] },
      at: inShop,
      excluded: 'resource excluded',
    },
    'not when its type is excluded': {
      spec: { includedResources: ['*'], excludedResources: ['Pod'] },
      at: inShop,
      excluded: 'resource excluded',
    },
    'not when a pattern excludes its type': {
      spec: { excludedResources: ['*.example.com'] },
      at: place('gadgets.example.com', 'shop'),
      excluded: 'resource excluded',
    },
    'when its namespace is included by a pattern': {
      spec: { includedNamespaces: ['sh*'] },
      at: inShop,
      excluded: undefined,
    },
    'not when its namespace is not included': {
      spec: { includedNamespaces: ['bank'] },
      at: inShop,
      excluded: 'namespace excluded',
    },
    'not when its namespace is excluded': {
      spec: { excludedNamespaces: ['shop'] },
      at: inShop,
      excluded: 'namespace excluded',
    },
    'without a namespace, when all namespaces are': { spec: {}, at: volume, excluded: undefined },
    'without a namespace, when all namespaces are named by a star': {
      spec: { includedNamespaces: ['*'] },
      at: volume,
      excluded: undefined,
    },
    'without a namespace, not when some namespaces are included, unless it is brought along': {
      spec: { includedNamespaces: ['shop'] },
      at: volume,
      excluded: 'cluster-scoped resources excluded',
      additional: 'none',
    },
    'without a namespace, not when some namespaces are excluded': {
      spec: { excludedNamespaces: ['shop'] },
      at: volume,
      excluded: 'cluster-scoped resources excluded',
      additional: 'none',
    },
    'without a namespace, when that is asked for': {
      spec: { includedNamespaces: ['shop'], includeClusterResources: true },
      at: volume,
      excluded: undefined,
    },
    'without a namespace, never when that is refused': {
      spec: { includeClusterResources: false },
      at: volume,
      excluded: 'cluster-scoped resources excluded',
    },
    'whatever is said, when moved data depends on it': {
      spec: {
        includedResources: ['pods'],
        includedNamespaces: ['shop'],
        labelSelector: { matchLabels: { a: 'b' } },
      },
      at: place('datauploads.velero.io', 'velero'),
      excluded: undefined,
    },
  }
  for (const [what, { spec, at, excluded, additional = excluded }] of Object.entries(cases)) {
    it(what, () => {
      const scope = scopeOf(spec)
      assert.equal(scope.excludesPlace(at), excluded)
      assert.equal(scope.excludesAdditional(at), additional === 'none' ? undefined : additional)
    })
  }
})

describe('An object is restored', () => {
  const pods = place('pods', 'shop')
  const object = (labels: Record<string, string> | undefined, name = 'web', kind = 'Pod') => ({
    name,
    kind,
    labels,
  })

  it('whatever it is, without selectors and policies', () => {
    const scope = scopeOf({})
    assert.equal(scope.dependsOnObject(pods), false)
    assert.equal(scope.excludesObject(pods, object(undefined)), undefined)
  })

  it('when its labels match the selector, or one of several', () => {
    const one = scopeOf({ labelSelector: { matchLabels: { app: 'web' } } })
    assert.equal(one.dependsOnObject(pods), true)
    assert.equal(one.excludesObject(pods, object({ app: 'web' })), undefined)
    assert.equal(one.excludesObject(pods, object({ app: 'db' })), 'labels do not match')
    assert.equal(one.excludesObject(pods, object(undefined)), 'labels do not match')
    const several = scopeOf({
      orLabelSelectors: [{ matchLabels: { app: 'web' } }, { matchLabels: { app: 'db' } }],
    })
    assert.equal(several.excludesObject(pods, object({ app: 'db' })), undefined)
    assert.equal(several.excludesObject(pods, object({ app: 'x' })), 'labels do not match')
  })

  it('whatever the selector, when moved data depends on it', () => {
    const scope = scopeOf({ labelSelector: { matchLabels: { app: 'web' } } })
    const uploads = place('datauploads.velero.io', 'velero')
    assert.equal(scope.dependsOnObject(uploads), false)
    assert.equal(scope.excludesObject(uploads, object({}, 'x', 'DataUpload')), undefined)
  })
})

describe('A filter policy', () => {
  const policy = `
version: v1
clusterScopedFilterPolicy:
  resourceFilters: [{kinds: [pv], names: [data-*]}]
namespacedFilterPolicies:
- namespaces: [shop]
  resourceFilters: [{kinds: [secrets], labelSelector: {matchLabels: {keep: 'yes'}}, excludedNames: [tmp-*]}]
- namespaces: [team-*]
  resourceFilters: [{kinds: [Gadget]}, {kinds: ['*'], labelSelector: {matchLabels: {keep: 'yes'}}}]
- namespaces: [bank]
  resourceFilters: [{kinds: [Gadget], names: [g]}]
`
  const scope = scopeOf({ labelSelector: { matchLabels: { app: 'web' } } }, policy)
  const why = (at: ItemPlace, facts: { name?: string; kind?: string; labels?: Record<string, string> }) =>
    scope.excludesObject(at, { name: 'a', kind: 'X', labels: undefined, ...facts })

  it('replaces the selectors of the restore for what it names', () => {
    const secrets = place('secrets', 'shop')
    assert.equal(scope.excludesPlace(secrets), undefined)
    assert.equal(why(secrets, { labels: { keep: 'yes' } }), undefined)
    assert.equal(why(secrets, { labels: { app: 'web' } }), 'labels do not match')
    assert.equal(why(secrets, { labels: { keep: 'yes' }, name: 'tmp-1' }), 'name does not match')
  })

  it('leaves out other kinds in its namespaces, without a look at the objects', () => {
    assert.equal(scope.excludesPlace(place('pods', 'shop')), 'not in the filter policy')
    assert.equal(scope.excludesAdditional(place('pods', 'shop')), undefined)
  })

  it('may say what becomes of other kinds', () => {
    const pods = place('pods', 'team-a')
    assert.equal(scope.excludesPlace(pods), undefined)
    assert.equal(why(pods, { labels: { keep: 'yes' } }), undefined)
    assert.equal(why(pods, { labels: { app: 'web' } }), 'labels do not match')
  })

  it('knows kinds that the cluster does not have yet by their objects', () => {
    const gadgets = place('gadgets.example.com', 'bank')
    assert.equal(scope.excludesPlace(gadgets), undefined)
    assert.equal(scope.dependsOnObject(gadgets), true)
    assert.equal(why(gadgets, { kind: 'Gadget', name: 'g' }), undefined)
    assert.equal(why(gadgets, { kind: 'Gadget', name: 'h' }), 'name does not match')
    assert.equal(why(place('pods', 'bank'), { kind: 'Pod' }), 'not in the filter policy')
    assert.equal(why(place('gadgets.example.com', 'team-a'), { kind: 'Gadget' }), undefined)
  })

  it('without a namespace concerns the kinds that it names only', () => {
    assert.equal(why(place('persistentvolumes'), { name: 'data-1' }), undefined)
    assert.equal(why(place('persistentvolumes'), { name: 'logs' }), 'name does not match')
    assert.equal(why(place('clusterroles.rbac.authorization.k8s.io'), {}), 'labels do not match')
  })

  it('does not concern other namespaces', () => {
    assert.equal(why(place('pods', 'elsewhere'), { labels: { app: 'web' } }), undefined)
    assert.equal(why(place('pods', 'elsewhere'), {}), 'labels do not match')
  })
})

describe('The status of an object', () => {
  const pods = { groupResource: 'pods' as GroupResource }
  const cases: {
    what: string
    spec: RestoreSpec
    annotation?: string
    restores: boolean
    ignored?: string
  }[] = [
    { what: 'is not restored unless that is said', spec: {}, restores: false },
    { what: 'is restored for all types', spec: { restoreStatus: {} }, restores: true },
    {
      what: 'is restored for a named type',
      spec: { restoreStatus: { includedResources: ['po'] } },
      restores: true,
    },
    {
      what: 'is not restored for other types',
      spec: { restoreStatus: { includedResources: ['secrets'] } },
      restores: false,
    },
    {
      what: 'is not restored for an excluded type',
      spec: { restoreStatus: { includedResources: ['*'], excludedResources: ['pods'] } },
      restores: false,
    },
    { what: 'is restored if the object says so', spec: {}, annotation: ' True', restores: true },
    {
      what: 'is not restored if the object says so',
      spec: { restoreStatus: {} },
      annotation: 'false',
      restores: false,
    },
    {
      what: 'is as the restore says if the object says neither',
      spec: { restoreStatus: {} },
      annotation: 'maybe',
      restores: true,
      ignored: 'maybe',
    },
  ]
  for (const { what, spec, annotation, restores, ignored } of cases) {
    it(what, () => {
      const annotations = annotation === undefined ? undefined : { 'velero.io/restore-status': annotation }
      const choice = scopeOf(spec).restoresStatus(pods, annotations)
      assert.deepEqual(choice, { restores, ...(ignored && { ignored }) })
    })
  }
})

describe('A mapping', () => {
  it('tells where a namespace goes', () => {
    const { targetNamespace } = scopeOf({ namespaceMapping: { shop: 'store', constructor: 'x' } })
    assert.deepEqual(['shop', 'bank', '', 'toString', 'constructor'].map(targetNamespace), [
      'store',
      'bank',
      '',
      'toString',
      'x',
    ])
  })
})

describe('A scope warns', () => {
  const warningsOf = (spec: RestoreSpec, policy?: string) =>
    scopeOf(spec, policy).warnings.map(({ fields }) => fields)

  it('about resources that neither the cluster nor the backup has', () => {
    const spec = { includedResources: ['pods', 'gadgets.example.com', 'gizmos', '*.apps'] }
    assert.deepEqual(warningsOf(spec), [{ resource: 'gizmos' }])
  })

  it('about namespaces and mappings that the backup has nothing for', () => {
    assert.deepEqual(warningsOf({ includedNamespaces: ['shop', 'gone', 'team-*'] }), [{ namespace: 'gone' }])
    assert.deepEqual(
      warningsOf({ includedNamespaces: ['shop'], namespaceMapping: { bank: 'b', gone: 'g', shop: 's' } }),
      [{ namespace: 'bank' }, { namespace: 'gone' }],
    )
  })

  it('when a namespace goes where another one of the backup stays', () => {
    assert.deepEqual(warningsOf({ namespaceMapping: { shop: 'bank' } }), [
      { namespace: 'bank', from: ['bank', 'shop'] },
    ])
    assert.deepEqual(warningsOf({ namespaceMapping: { shop: 'bank', bank: 'shop' } }), [])
  })

  it('about filters of a policy that have no effect', () => {
    const policy =
      'version: v1\nnamespacedFilterPolicies: [{namespaces: [shop], resourceFilters: [{kinds: [secrets, pv]}]}]'
    assert.deepEqual(warningsOf({ excludedResources: ['secrets'] }, policy), [
      { kind: 'pv' },
      { kind: 'secrets' },
    ])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupSpec } from '@lateen/api'
import { parsePolicies } from '../../filters/policies/parse-policies.ts'
import { resourceResolver } from '../../filters/resource-names.ts'
import type { NamespaceFacts, ScopedType } from '../../filters/scope.ts'
import { someResources } from '../../filters/testing/some-resources.ts'
import { resolveScope } from './resolve-scope.ts'

const resolve = resourceResolver(someResources)

function type(name: string): ScopedType {
  const found = resolve(name)
  assert.ok(found, name)
  return found
}

const namespaces: NamespaceFacts[] = [
  { name: 'shop', labels: { team: 'shop' }, phase: 'Active' },
  { name: 'team-a', labels: { team: 'a' }, phase: 'Active' },
  { name: 'team-b', phase: 'Active' },
]

function scopeOf(spec: BackupSpec, policies?: string) {
  return resolveScope({
    backup: { spec },
    policies: policies === undefined ? undefined : parsePolicies(policies),
    discovery: someResources,
    namespaces,
  })
}

describe('label selectors', () => {
  it('are those of the backup, as the API reads them', () => {
    assert.deepEqual(scopeOf({}).labelSelectors, [])
    assert.deepEqual(scopeOf({ labelSelector: { matchLabels: { app: 'web' } } }).labelSelectors, ['app=web'])
    const orLabelSelectors = [
      { matchLabels: { app: 'web' } },
      { matchExpressions: [{ key: 'app', operator: 'In', values: ['db', 'cache'] }] },
    ]
    assert.deepEqual(scopeOf({ orLabelSelectors }).labelSelectors, ['app=web', 'app in (cache,db)'])
  })

  it('are none when they select everything', () => {
    assert.deepEqual(scopeOf({ labelSelector: {} }).labelSelectors, [])
    assert.deepEqual(scopeOf({ orLabelSelectors: [{}, { matchLabels: { a: 'b' } }] }).labelSelectors, [])
  })
})

describe('takesNamespace', () => {
  const taken = (spec: BackupSpec) => {
    const scope = scopeOf(spec)
    return namespaces.filter(namespace => scope.takesNamespace(namespace)).map(({ name }) => name)
  }

  it('takes all that the backup names', () => {
    assert.deepEqual(taken({}), ['shop', 'team-a', 'team-b'])
    assert.deepEqual(taken({ includedNamespaces: ['team-*'], excludedNamespaces: ['team-b'] }), ['team-a'])
    assert.deepEqual(taken({ labelSelector: {} }), ['shop', 'team-a', 'team-b'])
  })

  it('takes only those that match when there is a selector and no namespace is named', () => {
    assert.deepEqual(taken({ labelSelector: { matchLabels: { team: 'shop' } } }), ['shop'])
    const orLabelSelectors = [{ matchLabels: { team: 'shop' } }, { matchLabels: { team: 'a' } }]
    assert.deepEqual(taken({ orLabelSelectors }), ['shop', 'team-a'])
  })

  it('takes those that match and those that are named when there are both', () => {
    const labelSelector = { matchLabels: { team: 'shop' } }
    assert.deepEqual(taken({ labelSelector, includedNamespaces: ['team-b'] }), ['shop', 'team-b'])
  })

  it('leaves out namespaces that are going away', () => {
    const scope = scopeOf({})
    assert.equal(scope.takesNamespace({ name: 'shop', phase: 'Terminating' }), false)
  })
})

describe('ordered resources', () => {
  it('are found by plural name in all groups, else as filters find them', () => {
    const { ordered } = scopeOf({
      orderedResources: { events: 'shop/e1', po: 'shop/b, shop/a,', 'deployments.apps': 'shop/web' },
    })
    assert.deepEqual(
      [...ordered],
      [
        ['events', ['shop/e1']],
        ['events.events.k8s.io', ['shop/e1']],
        ['pods', ['shop/b', 'shop/a']],
        ['deployments.apps', ['shop/web']],
      ],
    )
  })
})

const policies = `
version: v1
clusterScopedFilterPolicy:
  resourceFilters:
  - kinds: [sc]
    names: ["fast-*"]
    excludedNames: [fast-old]
namespacedFilterPolicies:
- namespaces: [team-*]
  resourceFilters:
  - kinds: [Secret, cm]
    labelSelector: {matchLabels: {keep: "yes"}}
  - kinds: ["*"]
- namespaces: [team-a, shop]
  resourceFilters:
  - kinds: [deployments.apps]
    names: [web]
    orLabelSelectors:
    - matchLabels: {a: "1"}
    - matchExpressions: [{key: b, operator: Exists}]
`

describe('fine filters', () => {
  const scope = scopeOf({ labelSelector: { matchLabels: { app: 'web' } } }, policies)

  it('concern only what a policy is about', () => {
    assert.equal(scope.fineFilter(type('clusterroles'), ''), undefined)
    assert.equal(scope.fineFilter(type('secrets'), 'elsewhere'), undefined)
    assert.equal(scopeOf({}).fineFilter(type('secrets'), 'shop'), undefined)
  })

  it('choose objects of cluster scope by name', () => {
    const filter = scope.fineFilter(type('sc'), '')
    assert.ok(filter && filter !== 'excluded')
    assert.deepEqual(filter.labelSelectors, [])
    assert.deepEqual(
      ['fast-1', 'fast-old', 'slow'].map(name => filter.includesName(name)),
      [true, false, false],
    )
  })

  it('put their selectors in the place of the backup’s', () => {
    const secrets = scope.fineFilter(type('secrets'), 'team-b')
    const pods = scope.fineFilter(type('pods'), 'team-b')
    assert.ok(secrets && secrets !== 'excluded' && pods && pods !== 'excluded')
    assert.deepEqual(secrets.labelSelectors, ['keep=yes'])
    assert.deepEqual(pods.labelSelectors, [])
  })

  it('leave out kinds that no filter names, and prefer a name to a pattern', () => {
    assert.equal(scope.fineFilter(type('secrets'), 'team-a'), 'excluded')
    const deployments = scope.fineFilter(type('deploy'), 'team-a')
    assert.ok(deployments && deployments !== 'excluded')
    assert.deepEqual(deployments.labelSelectors, ['a=1', 'b'])
    assert.equal(deployments.includesName('web'), true)
    assert.equal(deployments.includesName('db'), false)
  })

  it('make each namespace be listed by itself', () => {
    assert.equal(scope.namespaces.wide, false)
    assert.deepEqual(scope.namespaces.names, ['shop', 'team-a', 'team-b'])
    assert.equal(scope.namespaces.all, true)
  })
})

describe('warnings', () => {
  const messages = (spec: BackupSpec, policy?: string) =>
    scopeOf(spec, policy).warnings.map(({ message, fields }) => ({ message, ...fields }))

  it('are none for filters that mean something here, or that every backup has', () => {
    const spec = {
      includedNamespaceScopedResources: ['po', '*.apps'],
      excludedNamespaceScopedResources: ['volumesnapshots.snapshot.storage.k8s.io'],
      excludedClusterScopedResources: ['*'],
    }
    assert.deepEqual(messages(spec, policies), [])
  })

  it('name types that the cluster does not have', () => {
    assert.deepEqual(messages({ includedResources: ['gone', 'pods'], orderedResources: { lost: 'a' } }), [
      { message: 'A filter names a resource that this cluster does not have', resource: 'gone' },
      { message: 'Ordered resources name a type that this cluster does not have', resource: 'lost' },
    ])
  })

  it('name types in the list of the other scope', () => {
    assert.deepEqual(messages({ includedNamespaceScopedResources: ['pv'] }), [
      {
        message: 'A filter for resources in namespaces names one without a namespace, which is ignored',
        resource: 'pv',
      },
    ])
  })

  it('name kinds of policies that can match nothing', () => {
    const odd = `
version: v1
clusterScopedFilterPolicy: {resourceFilters: [{kinds: [pods, gone]}]}
namespacedFilterPolicies: [{namespaces: [shop], resourceFilters: [{kinds: [pv, secrets]}]}]
`
    assert.deepEqual(
      messages({ excludedNamespaceScopedResources: ['secrets'] }, odd).map(({ message }) => message),
      [
        'The filter policy for cluster scope names a kind with a namespace, which it cannot match',
        'A filter policy names a kind that this cluster does not have',
        'A filter policy for namespaces names a kind without a namespace, which it cannot match',
        'A filter policy names a kind that the backup leaves out',
      ],
    )
  })

  it('name namespaces that Argo CD manages', () => {
    const managed = { name: 'gitops', labels: { 'argocd.argoproj.io/managed-by': 'argocd' } }
    const scope = (spec: BackupSpec) =>
      resolveScope({ backup: { spec }, discovery: someResources, namespaces: [...namespaces, managed] })
    assert.deepEqual(
      scope({}).warnings.map(({ fields }) => fields),
      [{ namespaces: ['gitops'] }],
    )
    assert.deepEqual(scope({ excludedNamespaces: ['gitops'] }).warnings, [])
  })
})

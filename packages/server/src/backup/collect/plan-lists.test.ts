import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FineFilter, ScopedType } from '../../filters/scope.ts'
import { groupResource } from '../../item/item.ts'
import { resolveScope, type ScopeFacts } from '../scope/resolve-scope.ts'
import { planLists } from './plan-lists.ts'

const pods = { groupResource: groupResource({ group: '', plural: 'pods' }), namespaced: true }
const volumes = {
  groupResource: groupResource({ group: '', plural: 'persistentvolumes' }),
  namespaced: false,
}
const resource = ({ groupResource: plural, namespaced }: typeof pods) => ({
  ...{ group: '', version: 'v1', kind: plural, plural, singular: plural, namespaced },
  ...{ verbs: ['get', 'list', 'create', 'delete'], shortNames: [], categories: [], subresources: [] },
})

function scopeOf(spec: ScopeFacts['backup']['spec'], policies?: ScopeFacts['policies']) {
  const namespaces = ['a', 'b', 'c'].map(name => ({ name, phase: 'Active' }))
  return resolveScope({
    backup: { spec },
    policies,
    discovery: [resource(pods), resource(volumes)],
    namespaces,
  })
}

describe('The lists of a type', () => {
  it('are one over the cluster where every namespace is included, with those left out dropped', () => {
    const plan = planLists(
      pods,
      scopeOf({ excludedNamespaces: ['b'], labelSelector: { matchLabels: { x: 'y' } } }),
    )
    assert.ok(plan.over === 'cluster')
    assert.deepEqual(plan.selectors, ['x=y'])
    assert.deepEqual(['a', 'b', 'later'].filter(plan.keeps), ['a', 'later'])
    assert.deepEqual(plan.names, ['a', 'c'])
  })

  it('go through the namespaces that are named', () => {
    const plan = planLists(pods, scopeOf({ includedNamespaces: ['c', 'a', 'gone'] }))
    assert.deepEqual(plan, { over: 'namespaces', groups: [{ selectors: [], names: ['a', 'c'] }] })
  })

  it('are grouped by selectors where a policy gives namespaces their own, and spare those it leaves out', () => {
    const names = ['a', 'b', 'c', 'd']
    const own: Record<string, FineFilter | 'excluded' | undefined> = {
      a: undefined,
      b: { labelSelectors: ['x=1', 'x=2'], includesName: () => true },
      c: 'excluded',
      d: { labelSelectors: undefined, includesName: () => false },
    }
    const scope = {
      ...scopeOf({ labelSelector: { matchLabels: { all: 'yes' } } }),
      namespaces: { all: true, wide: false, names, missing: [], includes: () => true },
      fineFilter: (_type: ScopedType, namespace: string) => own[namespace],
    }
    assert.deepEqual(planLists(pods, scope), {
      over: 'namespaces',
      groups: [
        { selectors: ['all=yes'], names: ['a', 'd'] },
        { selectors: ['x=1', 'x=2'], names: ['b'] },
      ],
    })
  })

  it('are one over the cluster for types without namespaces', () => {
    const or = [{ matchLabels: { x: '1' } }, { matchLabels: { x: '2' } }]
    const plan = planLists(volumes, scopeOf({ includedNamespaces: ['a'], orLabelSelectors: or }))
    assert.ok(plan.over === 'cluster')
    assert.deepEqual(plan.selectors, ['x=1', 'x=2'])
    assert.ok(plan.keeps(''))
  })
})

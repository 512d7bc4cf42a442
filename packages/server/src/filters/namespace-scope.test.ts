import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { resolveNamespaces } from './namespace-scope.ts'

const existing = ['shop', 'app-2', 'app-1', 'kube-system']

describe('resolveNamespaces', () => {
  const cases = [
    {
      what: 'nothing said',
      includes: [],
      excludes: [],
      names: ['app-1', 'app-2', 'kube-system', 'shop'],
      all: true,
      wide: true,
    },
    {
      what: 'everything',
      includes: ['*'],
      excludes: [],
      names: ['app-1', 'app-2', 'kube-system', 'shop'],
      all: true,
      wide: true,
    },
    {
      what: 'an exclusion',
      includes: ['*'],
      excludes: ['kube-system'],
      names: ['app-1', 'app-2', 'shop'],
      wide: true,
    },
    {
      what: 'an excluded pattern',
      includes: ['*'],
      excludes: ['app-*'],
      names: ['kube-system', 'shop'],
      wide: true,
    },
    {
      what: 'an excluded pattern of one character',
      includes: ['*'],
      excludes: ['?'],
      names: ['app-1', 'app-2', 'kube-system', 'shop'],
      wide: true,
    },
    { what: 'names', includes: ['shop', 'app-1'], excludes: [], names: ['app-1', 'shop'] },
    { what: 'a name twice', includes: ['shop', 'shop'], excludes: [], names: ['shop'] },
    { what: 'a pattern', includes: ['app-?'], excludes: [], names: ['app-1', 'app-2'] },
    { what: 'a pattern less a name', includes: ['app-[12]'], excludes: ['app-2'], names: ['app-1'] },
    { what: 'a name less a pattern', includes: ['shop', 'app-1'], excludes: ['app-*'], names: ['shop'] },
    {
      what: 'all names',
      includes: ['app-1', 'app-2', 'kube-system', 'shop'],
      excludes: [],
      names: ['app-1', 'app-2', 'kube-system', 'shop'],
      all: true,
    },
    {
      what: 'a pattern that matches all',
      includes: ['*p*', '*-*'],
      excludes: [],
      names: ['app-1', 'app-2', 'kube-system', 'shop'],
      all: true,
    },
    {
      what: 'a pattern that matches all, less one that matches none',
      includes: ['*p*', '*-*'],
      excludes: ['zz-*'],
      names: ['app-1', 'app-2', 'kube-system', 'shop'],
      all: true,
    },
    { what: 'a pattern that matches none', includes: ['zz-*'], excludes: [], names: [] },
    { what: 'nothing but what has no namespace', includes: [''], excludes: [], names: [], missing: [''] },
    {
      what: 'a name that is not there',
      includes: ['shop', 'gone', 'zz-*'],
      excludes: [],
      names: ['shop'],
      missing: ['gone'],
    },
  ]
  for (const { what, includes, excludes, names, all = false, wide = false, missing = [] } of cases) {
    it(`resolves ${what}`, () => {
      const scope = resolveNamespaces({ includes, excludes, existing })
      assert.deepEqual({ ...scope, includes: undefined }, { names, all, wide, missing, includes: undefined })
    })
  }

  it('takes namespaces that came later when everything is included, and only then', () => {
    assert.equal(resolveNamespaces({ includes: ['*'], excludes: ['app-*'], existing }).includes('late'), true)
    assert.equal(
      resolveNamespaces({ includes: ['*'], excludes: ['app-*'], existing }).includes('app-3'),
      false,
    )
    assert.equal(resolveNamespaces({ includes: ['app-*'], existing }).includes('app-3'), false)
  })

  it('includes exactly the existing namespaces that it names', () => {
    const name = fc.constantFrom('a', 'b', 'ab', 'ba', 'b-1')
    const entry = fc.oneof(name, fc.constantFrom('*', 'a*', '?', '[ab]', '*1'))
    fc.assert(
      fc.property(
        fc.array(entry),
        fc.array(entry),
        fc.uniqueArray(name),
        (includes, excludes, namespaces) => {
          const scope = resolveNamespaces({ includes, excludes, existing: namespaces })
          assert.deepEqual(scope.names, namespaces.filter(namespace => scope.includes(namespace)).sort())
          if (scope.all) assert.deepEqual(scope.names, namespaces.toSorted())
        },
      ),
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { namespacesOf, namespacesOverlap } from './overlap.ts'

const existing = ['shop', 'app-1', 'app-2']

describe('namespacesOverlap', () => {
  const cases = [
    { one: {}, other: {}, overlap: true },
    { one: { includedNamespaces: ['shop'] }, other: { includedNamespaces: ['app-1'] }, overlap: false },
    {
      one: { includedNamespaces: ['app-*'] },
      other: { includedNamespaces: ['shop', 'app-2'] },
      overlap: true,
    },
    {
      one: { includedNamespaces: ['*'], excludedNamespaces: ['shop'] },
      other: { includedNamespaces: ['shop'] },
      overlap: false,
    },
    { one: { includedNamespaces: ['gone'] }, other: { includedNamespaces: ['gone'] }, overlap: false },
    { one: { includedNamespaces: ['app-[a-z0-9]'] }, other: {}, overlap: false },
  ]
  for (const { one, other, overlap } of cases) {
    it(`${JSON.stringify(one)} and ${JSON.stringify(other)} ${overlap ? 'overlap' : 'do not overlap'}`, () => {
      assert.equal(namespacesOverlap({ spec: one }, { spec: other }, existing), overlap)
      assert.equal(namespacesOverlap({ spec: other }, { spec: one }, existing), overlap)
    })
  }
})

describe('namespacesOf', () => {
  it('is what exists of what the backup takes', () => {
    assert.deepEqual(namespacesOf({ spec: { includedNamespaces: ['shop', 'gone', 'app-*'] } }, existing), [
      'app-1',
      'app-2',
      'shop',
    ])
  })
})

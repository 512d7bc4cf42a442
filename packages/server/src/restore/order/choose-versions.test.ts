import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { someResources } from '../../filters/testing/some-resources.ts'
import type { GroupResource } from '../../item/item.ts'
import { chooseVersions, hasVersions } from './choose-versions.ts'
import { byKubePriority } from './kube-version.ts'
import { parseVersionPriorities } from './version-priorities.ts'

const widgets = 'widgets.example.com' as GroupResource
const [widget] = someResources.filter(({ kind }) => kind === 'Widget')

interface Case {
  what: string
  /** The first is the preferred one. */
  stored: string[]
  served: string[]
  wanted?: string[]
  chosen: string | undefined
}

describe('chooseVersions', () => {
  const cases: Case[] = [
    { what: 'the one that the cluster prefers', stored: ['v1', 'v2'], served: ['v2', 'v1'], chosen: 'v2' },
    {
      what: 'the one that the backup preferred',
      stored: ['v1', 'v1beta1'],
      served: ['v2', 'v1'],
      chosen: 'v1',
    },
    {
      what: 'the best common one that neither prefers',
      stored: ['v3', 'v1beta1', 'v1alpha1', 'v1beta2'],
      served: ['v2', 'v1alpha1', 'v1beta1', 'v1beta2'],
      chosen: 'v1beta2',
    },
    { what: 'none where nothing is common', stored: ['v1'], served: ['v2'], chosen: undefined },
    { what: 'none where the type is not served', stored: ['v1'], served: [], chosen: undefined },
    { what: 'none where no version is stored', stored: [], served: ['v1'], chosen: undefined },
    {
      what: 'the first wanted one that both have',
      stored: ['v1', 'v2', 'v3'],
      served: ['v3', 'v2', 'v1'],
      wanted: ['v4', 'v2', 'v1'],
      chosen: 'v2',
    },
    {
      what: 'the usual one where no wanted one is common',
      stored: ['v1', 'v2'],
      served: ['v2', 'v1'],
      wanted: ['v4'],
      chosen: 'v2',
    },
  ]
  for (const { what, stored, served, wanted, chosen } of cases) {
    it(`chooses ${what}`, () => {
      const versions = stored.map((version, index) => ({ version, preferred: index === 0 }))
      const found = chooseVersions({
        types: [{ groupResource: widgets, count: 1, versions }],
        discovery: served.map(version => ({ ...widget!, version })),
        priorities: wanted && new Map([[widgets, wanted]]),
      })
      assert.equal(found.get(widgets), chosen)
    })
  }
})

describe('byKubePriority', () => {
  it('sorts as API servers do', () => {
    const sorted = [
      'v10',
      'v2',
      'v1',
      'v11beta2',
      'v10beta3',
      'v3beta1',
      'v12alpha1',
      'v11alpha2',
      'bar',
      'foo1',
      'foo10',
    ]
    assert.deepEqual(sorted.toReversed().sort(byKubePriority), sorted)
    assert.deepEqual(['v1beta', 'v1', 'v'].sort(byKubePriority), ['v1', 'v', 'v1beta'])
  })
})

describe('parseVersionPriorities', () => {
  it('reads a line for each type and tells which lines say nothing', () => {
    const text = 'rockbands.music.example.io = v2beta1, v2beta2\n\n a=v1\nb\nc=\n=d\ne=f=g\r\n'
    const { priorities, ignored } = parseVersionPriorities(text)
    assert.deepEqual(
      [...priorities],
      [
        ['rockbands.music.example.io', ['v2beta1', 'v2beta2']],
        ['a', ['v1']],
      ],
    )
    assert.deepEqual(ignored, ['b', 'c=', '=d', 'e=f=g'])
  })
})

describe('hasVersions', () => {
  it('holds from the layout on that has folders of versions', () => {
    assert.deepEqual(['1.1.0', '1.2.0', '2', '1', '', undefined].map(hasVersions), [
      true,
      true,
      true,
      false,
      false,
      false,
    ])
  })
})

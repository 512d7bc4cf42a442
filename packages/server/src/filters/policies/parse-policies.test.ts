import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidPoliciesError, parsePolicies } from './parse-policies.ts'
import { withGlobalVolumePolicies } from './resource-policies.ts'

function problemsOf(text: string): readonly string[] {
  try {
    parsePolicies(text)
    return []
  } catch (error) {
    assert.ok(error instanceof InvalidPoliciesError)
    return error.problems
  }
}

describe('parsePolicies', () => {
  it('reads every section', () => {
    const policies = parsePolicies(`
version: v1
volumePolicies:
- conditions:
    capacity: "10Gi,100Gi"
    storageClass: [gp2]
    nfs: {}
    csi: {driver: ebs.csi.aws.com, volumeAttributes: {tier: 1}}
    volumeTypes: [csi]
    pvcLabels: {app: web}
    pvcPhase: [Pending]
    pvcVolumeMode: Block
    pvcAccessModes: [ReadWriteOnce]
  action: {type: custom, parameters: {to: tape, copies: 2}}
- conditions: {}
  action: {type: skip}
includeExcludePolicy:
  includedClusterScopedResources: [storageclasses]
  excludedNamespaceScopedResources: [secrets]
clusterScopedFilterPolicy:
  resourceFilters: [{kinds: [clusterroles], names: ["team-*"]}]
namespacedFilterPolicies:
- namespaces: [team-*]
  resourceFilters:
  - kinds: [secrets]
    labelSelector: {matchLabels: {a: b}}
  - kinds: []
`)
    assert.deepEqual(policies.volumePolicies[0], {
      conditions: {
        capacity: { lower: 10n * 2n ** 30n * 10n ** 9n, upper: 100n * 2n ** 30n * 10n ** 9n },
        storageClass: ['gp2'],
        nfs: { server: '', path: '' },
        csi: { driver: 'ebs.csi.aws.com', volumeAttributes: { tier: '1' } },
        volumeTypes: ['csi'],
        pvcLabels: { app: 'web' },
        pvcPhase: ['Pending'],
        pvcVolumeMode: 'Block',
        pvcAccessModes: ['ReadWriteOnce'],
      },
      action: { type: 'custom', parameters: { to: 'tape', copies: 2 } },
    })
    assert.deepEqual(policies.volumePolicies[1]?.action, { type: 'skip' })
    assert.deepEqual(policies.includeExcludePolicy, {
      includedClusterScopedResources: ['storageclasses'],
      excludedClusterScopedResources: [],
      includedNamespaceScopedResources: [],
      excludedNamespaceScopedResources: ['secrets'],
    })
    assert.deepEqual(policies.clusterScopedFilters, [
      { kinds: ['clusterroles'], labelSelectors: [], names: ['team-*'], excludedNames: [] },
    ])
    assert.deepEqual(
      policies.namespacedFilterPolicies[0]?.resourceFilters.map(({ labelSelectors }) => labelSelectors),
      [[{ matchLabels: { a: 'b' }, matchExpressions: [] }], []],
    )
  })

  it('refuses aliases that blow up (billion laughs), plain and merged', () => {
    const names = [...'abcdefghij']
    const laughs = names.map((name, at) => {
      const nine = Array(9).fill(at === 0 ? 'ha' : `*${names[at - 1]}`)
      return `${name}: &${name} [${nine.join(', ')}]`
    })
    assert.match(problemsOf(laughs.join('\n'))[0] ?? '', /alias/)
    const merged = names.map((name, at) => {
      const nine = Array.from({ length: 9 }, (_, index) =>
        at === 0 ? `k${index}: 1` : `k${index}: {<<: *${names[at - 1]}}`,
      )
      return `${name}: &${name} {${nine.join(', ')}}`
    })
    assert.match(problemsOf(merged.join('\n'))[0] ?? '', /alias/)
  })

  it('refuses a text that is nested without end, in place of running out of stack', () => {
    assert.notEqual(problemsOf('['.repeat(100_000)).length, 0)
    assert.notEqual(problemsOf('{a: '.repeat(100_000)).length, 0)
  })

  it('reads JSON, which is YAML', () => {
    assert.deepEqual(parsePolicies('{"version": "v1"}').volumePolicies, [])
  })

  const broken = [
    {
      what: 'no text',
      text: '',
      problem: /failed to decode yaml data into resource policies: there is no mapping/,
    },
    {
      what: 'text that is not YAML',
      text: 'version: [',
      problem: /failed to decode yaml data into resource policies/,
    },
    { what: 'the same field twice', text: 'version: v1\nversion: v1', problem: /must be unique/ },
    { what: 'two documents', text: 'version: v1\n---\nversion: v1', problem: /multiple documents/ },
    { what: 'a list', text: '[]', problem: /there is no mapping/ },
    {
      what: 'no version',
      text: 'volumePolicies: []',
      problem: /incompatible version number {2}with supported version v1/,
    },
    {
      what: 'another version',
      text: 'version: v2',
      problem: /incompatible version number v2 with supported version v1/,
    },
    { what: 'an unknown section', text: 'version: v1\nother: {}', problem: /^other: unknown field$/ },
  ]
  for (const { what, text, problem } of broken) {
    it(`refuses ${what}`, () => {
      const problems = problemsOf(text)
      assert.equal(problems.length, 1, problems.join('\n'))
      assert.match(problems[0] ?? '', problem)
    })
  }

  it('names everything that is wrong with volume policies at once', () => {
    const problems = problemsOf(`
version: v1
volumePolicies:
- conditions:
    capacity: 100Gi,10Gi
    colour: red
  action: {type: burn}
- conditions:
    capacity: big,
    storageClass: gp2
    csi: {volumeAttributes: {a: b}}
    pvcVolumeMode: 7
    pvcAccessModes: [1]
    pvcLabels: [a]
  action: skip
- conditions: {capacity: 10Gi}
`)
    assert.deepEqual(problems, [
      'volumePolicies[0].conditions.colour: unknown field',
      'volumePolicies[0].conditions.capacity: illegal values for capacity 100Gi,10Gi (the first must not be larger than the second)',
      'volumePolicies[0].action: invalid action type burn (one of skip, fs-backup, snapshot, custom)',
      'volumePolicies[1].conditions.capacity: wrong format of Capacity big (not a quantity)',
      'volumePolicies[1].conditions.storageClass: must be a list, not text',
      'volumePolicies[1].conditions.csi: csi driver should not be empty when filtering by volume attributes',
      'volumePolicies[1].conditions.pvcLabels: must be a mapping, not a list',
      'volumePolicies[1].conditions.pvcVolumeMode: must be text, not a number',
      'volumePolicies[1].conditions.pvcAccessModes[0]: must be text, not a number',
      'volumePolicies[1].action: must be a mapping, not text',
      'volumePolicies[1].action: invalid action type  (one of skip, fs-backup, snapshot, custom)',
      'volumePolicies[2].conditions.capacity: wrong format of Capacity 10Gi (write two quantities such as "10Gi,100Gi")',
      'volumePolicies[2].action: invalid action type  (one of skip, fs-backup, snapshot, custom)',
    ])
  })

  it('names everything that is wrong with filters at once', () => {
    const problems = problemsOf(`
version: v1
includeExcludePolicy:
  includedClusterScopedResources: ["*"]
  includedNamespaceScopedResources: [pods]
  excludedNamespaceScopedResources: [pods]
clusterScopedFilterPolicy:
  resourceFilters:
  - names: [a]
  - kinds: [sc, sc]
    names: ["["]
namespacedFilterPolicies:
- namespaces: []
- namespaces: ["a**", b]
  resourceFilters:
  - kinds: [pods]
    labelSelector: {matchLabels: {a: b}}
    orLabelSelectors: [{matchExpressions: [{key: a, operator: Like}]}]
  - kinds: [pods, "*"]
  - kinds: ["*"]
    excludedNames: [x]
  - {}
- namespaces: [b]
  resourceFilters: [{kinds: [pods], labels: {}}]
`)
    assert.deepEqual(problems, [
      "includeExcludePolicy: cannot use '*' in includes or excludes filters in the policy",
      'includeExcludePolicy: excludes list cannot contain an item in the includes list: pods',
      'clusterScopedFilterPolicy.resourceFilters[0]: kinds must be specified (catch-all is not supported)',
      'clusterScopedFilterPolicy: kind "sc" appears in both resourceFilters[1] and resourceFilters[1]',
      'clusterScopedFilterPolicy.resourceFilters[1].names[0]: invalid glob pattern "[": unexpected end of input',
      'namespacedFilterPolicies[2].resourceFilters[0].labels: unknown field',
      'namespacedFilterPolicies[0]: at least one namespace must be specified',
      'namespacedFilterPolicies[0]: at least one resourceFilter must be specified',
      'namespacedFilterPolicies[1].namespaces[0]: wildcard pattern contains consecutive asterisks (only single * allowed)',
      'namespacedFilterPolicies[1]: only one catch-all resource filter is allowed',
      'namespacedFilterPolicies[1].resourceFilters[2]: names or excludedNames cannot be specified for catch-all filters',
      'namespacedFilterPolicies[1].resourceFilters[0]: labelSelector and orLabelSelectors cannot co-exist',
      'namespacedFilterPolicies[1].resourceFilters[0].orLabelSelectors[0]: invalid label selector: "Like" is not a valid label selector operator',
      'namespacedFilterPolicies[1]: kind "pods" appears in both resourceFilters[0] and resourceFilters[1]',
      "namespacedFilterPolicies: duplicate namespace pattern 'b' found in policies [1 2]",
    ])
  })

  it('refuses a filter policy for cluster scope without filters', () => {
    assert.deepEqual(problemsOf('version: v1\nclusterScopedFilterPolicy: {}'), [
      'clusterScopedFilterPolicy: resourceFilters cannot be empty; remove the policy block entirely if it is not needed',
    ])
  })
})

describe('withGlobalVolumePolicies', () => {
  const own = parsePolicies(
    'version: v1\nvolumePolicies: [{action: {type: skip}}]\nincludeExcludePolicy: {excludedClusterScopedResources: [a]}',
  )
  const global = parsePolicies(
    'version: v1\nvolumePolicies: [{action: {type: snapshot}}]\nincludeExcludePolicy: {excludedClusterScopedResources: [b]}',
  )
  const actions = (policies: typeof own | undefined) =>
    policies?.volumePolicies.map(({ action }) => action.type)

  it('puts the volume policies of the server after those of the backup', () => {
    assert.deepEqual(actions(withGlobalVolumePolicies(own, global)), ['skip', 'snapshot'])
    assert.deepEqual(actions(withGlobalVolumePolicies(own, undefined)), ['skip'])
    assert.deepEqual(actions(withGlobalVolumePolicies(undefined, global)), ['snapshot'])
    assert.equal(withGlobalVolumePolicies(undefined, undefined), undefined)
  })

  it('takes nothing else from the server', () => {
    assert.deepEqual(
      withGlobalVolumePolicies(own, global)?.includeExcludePolicy?.excludedClusterScopedResources,
      ['a'],
    )
    assert.equal(withGlobalVolumePolicies(undefined, global)?.includeExcludePolicy, undefined)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActionItem } from '@lateen/plugin'
import { groupResource } from '../../item/item.ts'
import { applyModifiers } from './apply-modifiers.ts'
import { InvalidModifiersError, parseModifiers } from './parse-modifiers.ts'

const claims = groupResource({ group: '', plural: 'persistentvolumeclaims' })

function claim(spec: object = {}, metadata: object = {}): ActionItem {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'mysql-0', namespace: 'shop', labels: { app: 'mysql' }, ...metadata },
    spec: { storageClassName: 'premium', ...spec },
  }
}

function rule(conditions: string, patches: string): string {
  return `- conditions: {${conditions}}\n  ${patches}\n`
}

function modify(rules: string[], item: ActionItem = claim(), type = claims) {
  const modifiers = parseModifiers({ 'rules.yaml': `version: v1\nresourceModifierRules:\n${rules.join('')}` })
  return applyModifiers(modifiers, { item, groupResource: type, namespace: item.metadata.namespace ?? '' })
}

function problemsOf(text: string): readonly string[] {
  try {
    parseModifiers({ rules: text })
    return []
  } catch (error) {
    assert.ok(error instanceof InvalidModifiersError)
    return error.problems
  }
}

const toStandard = 'patches: [{operation: replace, path: /spec/storageClassName, value: standard}]'
const all = 'groupResource: persistentvolumeclaims'

describe('applyModifiers', () => {
  const conditions: { what: string; text: string; applies: boolean }[] = [
    { what: 'of this type', text: all, applies: true },
    { what: 'of another type', text: 'groupResource: persistentvolumes', applies: false },
    { what: 'of types without a group', text: 'groupResource: "*"', applies: true },
    { what: 'of types with a group', text: 'groupResource: "*.*"', applies: false },
    { what: 'with a name that is found', text: `${all}, resourceNameRegex: "^mysql.*$"`, applies: true },
    { what: 'with a name that is not found', text: `${all}, resourceNameRegex: "^pg"`, applies: false },
    { what: 'in a namespace of the list', text: `${all}, namespaces: [x, sh*]`, applies: true },
    { what: 'in another namespace', text: `${all}, namespaces: [x]`, applies: false },
    { what: 'with these labels', text: `${all}, labelSelector: {matchLabels: {app: mysql}}`, applies: true },
    { what: 'with other labels', text: `${all}, labelSelector: {matchLabels: {app: pg}}`, applies: false },
    {
      what: 'without a label',
      text: `${all}, labelSelector: {matchExpressions: [{key: x, operator: DoesNotExist}]}`,
      applies: true,
    },
    {
      what: 'with a field',
      text: `${all}, matches: [{path: /spec/storageClassName, value: premium}]`,
      applies: true,
    },
    {
      what: 'with another value in a field',
      text: `${all}, matches: [{path: /spec/storageClassName, value: x}]`,
      applies: false,
    },
    {
      what: 'without a field that is asked for',
      text: `${all}, matches: [{path: /spec/a/b, value: x}]`,
      applies: false,
    },
    {
      what: 'with one field of two',
      text: `${all}, matches: [{path: /spec/storageClassName, value: premium}, {path: /metadata/name, value: x}]`,
      applies: false,
    },
  ]
  for (const { what, text, applies } of conditions) {
    it(`${applies ? 'changes' : 'leaves alone'} an object ${what}`, () => {
      const { item, errors } = modify([rule(text, toStandard)])
      assert.deepEqual(errors, [])
      assert.deepEqual(item, applies ? claim({ storageClassName: 'standard' }) : claim())
    })
  }

  it('does not ask for the namespace of an object that has none', () => {
    const item = claim({}, { namespace: '' })
    assert.deepEqual(modify([rule(`${all}, namespaces: [x]`, toStandard)], item).item.spec, {
      storageClassName: 'standard',
    })
  })

  it('asks conditions of the object as it was, and applies one rule on top of the other', () => {
    const second = `${all}, matches: [{path: /spec/storageClassName, value: premium}]`
    const add = 'mergePatches: [{patchData: "metadata: {annotations: {x: yes}}"}]'
    const { item } = modify([rule(all, toStandard), rule(second, add)])
    assert.deepEqual(item, claim({ storageClassName: 'standard' }, { annotations: { x: true } }))
  })

  it('leaves the given object as it is', () => {
    const item = claim()
    modify([rule(all, 'strategicPatches: [{patchData: "metadata: {labels: {app: null}}"}]')], item)
    assert.deepEqual(item, claim())
  })

  it('changes nothing by a rule of which a test does not hold, and says nothing', () => {
    const operations =
      'patches: [{operation: replace, path: /spec/storageClassName, value: x}, {operation: test, path: /spec/none, value: y}]'
    assert.deepEqual(modify([rule(all, operations)]), { item: claim(), errors: [] })
  })

  it('goes on after a rule that fails, of which nothing is left', () => {
    const broken =
      'patches: [{operation: replace, path: /spec/storageClassName, value: x}, {operation: remove, path: /spec/none}]'
    const { item, errors } = modify([
      rule(all, broken),
      rule(all, 'mergePatches: [{patchData: "{spec: {a: 1}}"}]'),
    ])
    assert.deepEqual(item, claim({ a: 1 }))
    assert.deepEqual(
      errors.map(({ message }) => message),
      [
        'persistentvolumeclaims shop/mysql-0: the resource modifier in line 3 could not be applied: there is nothing at /spec/none',
      ],
    )
  })

  it('says so when a match looks into a list beyond its end', () => {
    const { errors } = modify(
      [rule(`${all}, matches: [{path: /spec/list/3, value: x}]`, toStandard)],
      claim({ list: [] }),
    )
    assert.match(errors[0]?.message ?? '', /3 in \/spec\/list\/3 is no index of the list there/)
  })

  it('refuses strategic patches of kinds that have none', () => {
    const item = { ...claim(), apiVersion: 'lateen.dev/v1', kind: 'Sail' }
    const sails = groupResource({ group: 'lateen.dev', plural: 'sails' })
    const { errors } = modify(
      [rule('groupResource: sails.lateen.dev', 'strategicPatches: [{patchData: "spec: {}"}]')],
      item,
      sails,
    )
    assert.match(errors[0]?.message ?? '', /Sail of lateen\.dev\/v1 is none; use mergePatches or patches/)
  })

  it('refuses patches that take away what makes an object', () => {
    for (const name of ['kind', 'apiVersion', 'metadata']) {
      const { item, errors } = modify([rule(all, `mergePatches: [{patchData: "${name}: null"}]`)])
      assert.equal(errors.length, 1)
      assert.deepEqual(item, claim())
    }
  })

  it('keeps long integers as they are written', () => {
    const add = 'mergePatches: [{patchData: "spec: {big: 12345678901234567890}"}]'
    const { item } = modify([
      rule(all, add),
      rule(all, 'patches: [{operation: copy, from: /spec/big, path: /spec/copy}]'),
    ])
    assert.match(JSON.stringify(item), /"big":12345678901234567890,"copy":12345678901234567890/)
  })

  it('applies several patches of one rule, one after the other', () => {
    const data =
      'strategicPatches: [{patchData: "metadata: {finalizers: [a]}"}, {patchData: "metadata: {finalizers: [b]}"}]'
    assert.deepEqual(modify([rule(all, data)]).item.metadata.finalizers, ['b', 'a'])
  })
})

describe('parseModifiers', () => {
  it('takes the version in any case, and YAML as Velero reads it', () => {
    const { rules } = parseModifiers({
      x: `version: V1
resourceModifierRules:
- conditions: {groupResource: pods}
  mergePatches:
  - patchData: |
      a: on
      b: 12:30
      c: 2026-01-01
      d: 010
      e: "on"
`,
    })
    assert.deepEqual(rules[0]?.patch, {
      kind: 'merge',
      patches: [{ a: true, b: '12:30', c: '2026-01-01', d: 8, e: 'on' }],
    })
  })

  it('names everything that is wrong, each with its line', () => {
    assert.deepEqual(
      problemsOf(`version: v2
resourceModifierRules:
- conditions:
    resourceNameRegex: "("
    namespaces: ["[b-a]"]
    colour: red
    labelSelector: {matchExpressions: [{key: a, operator: Near}]}
    matches:
    - value: x
  patches:
  - operation: reverse
    path: /spec
  - path: spec/replicas
    operation: add
    value: True
  - {operation: copy, path: /a}
- conditions: {groupResource: pods}
- conditions: {groupResource: pods}
  mergePatches:
  - patchData: |
      spec:
        a: b: c
  strategicPatches:
  - patchData: "[]"
`).map(problem => problem.split(' cannot be used')[0]),
      [
        'line 1: version: unsupported resource modifier version v2 (the version is v1)',
        'line 3: resourceModifierRules[0].conditions.groupResource: groupResource cannot be empty',
        'line 4: resourceModifierRules[0].conditions.resourceNameRegex: the regular expression "("',
        'line 5: resourceModifierRules[0].conditions.namespaces[0]: the pattern "[b-a]"',
        'line 6: resourceModifierRules[0].conditions.colour: unknown field',
        'line 7: resourceModifierRules[0].conditions.labelSelector: "Near" is not a valid label selector operator',
        'line 9: resourceModifierRules[0].conditions.matches[0].path: path cannot be empty',
        'line 11: resourceModifierRules[0].patches[0].operation: unsupported operation reverse (one of add, remove, replace, test, move, copy)',
        'line 13: resourceModifierRules[0].patches[1].path: "spec/replicas" must begin with a slash, such as /spec/replicas',
        'line 16: resourceModifierRules[0].patches[2].from: path cannot be empty',
        'line 17: resourceModifierRules[1]: no patch data found (one of patches, mergePatches, strategicPatches is needed)',
        'line 18: resourceModifierRules[2]: only one of patches, mergePatches, strategicPatches can be specified',
        'line 22: resourceModifierRules[2].mergePatches[0].patchData: Nested mappings are not allowed in compact mappings',
        'line 24: resourceModifierRules[2].strategicPatches[0].patchData: the text must be a mapping in YAML or JSON',
      ],
    )
  })

  const refused: { what: string; text: string; problem: RegExp }[] = [
    { what: 'an empty text', text: '', problem: /^line 1: version: unsupported resource modifier version/ },
    {
      what: 'no rules',
      text: 'version: v1',
      problem: /^line 1: resourceModifierRules: resource modifier rules cannot be empty$/,
    },
    {
      what: 'text that is not YAML',
      text: 'version: v1\na: [',
      problem: /^line 2: failed to decode yaml data into resource modifiers/,
    },
    { what: 'a key twice', text: 'version: v1\nversion: v1', problem: /^line 2: .*unique/ },
    {
      what: 'two documents',
      text: 'version: v1\n---\nversion: v1',
      problem: /^line 2: .*multiple documents/,
    },
    { what: 'a list', text: '[]', problem: /must be a mapping, not a list/ },
    { what: 'an infinite number', text: 'version: .inf', problem: /no number of JSON/ },
  ]
  for (const { what, text, problem } of refused) {
    it(`refuses ${what}`, () => assert.match(problemsOf(text)[0] ?? '', problem))
  }

  it('refuses a ConfigMap without exactly one entry', () => {
    for (const data of [undefined, {}, { a: '', b: '' }]) {
      assert.throws(
        () => parseModifiers(data),
        /illegal resource modifiers: the ConfigMap must have one entry, not/,
      )
    }
  })

  it('refuses aliases that blow up', () => {
    const levels = Array.from(
      { length: 9 },
      (_, level) => `l${level + 1}: &l${level + 1} [${`*l${level},`.repeat(9)}]`,
    )
    const text = `l0: &l0 [x]\n${levels.join('\n')}\n`
    assert.match(problemsOf(text)[0] ?? '', /alias/)
  })
})

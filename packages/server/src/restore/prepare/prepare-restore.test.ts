import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Backup,
  type BackupPhase,
  type BackupStatus,
  type BackupStorageLocation,
  type Restore,
  type RestoreSpec,
  validLabelValue,
} from '@lateen/api'
import fc from 'fast-check'
import { someResources } from '../../filters/testing/some-resources.ts'
import { type PreparedRestore, prepareRestore, type RestoreFacts } from './prepare-restore.ts'

const namespace = 'velero'

function location(name: string, phase?: 'Available' | 'Unavailable'): BackupStorageLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name, namespace },
    spec: { provider: 'aws', objectStorage: { bucket: 'b' } },
    ...(phase && { status: { phase } }),
  }
}

interface BackupFacts {
  phase?: BackupPhase
  started?: string
  schedule?: string
  at?: string
}

function backup(
  name: string,
  { phase = 'Completed', started, schedule, at = 'default' }: BackupFacts = {},
): Backup {
  const status: BackupStatus = { phase, ...(started && { startTimestamp: started }) }
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace, ...(schedule && { labels: { 'velero.io/schedule-name': schedule } }) },
    spec: { storageLocation: at },
    status,
  }
}

interface Given {
  facts?: Partial<RestoreFacts>
  annotations?: Record<string, string>
}

function prepare(spec: RestoreSpec, { facts, annotations }: Given = {}): PreparedRestore {
  const restore: Restore = {
    apiVersion: 'velero.io/v1',
    kind: 'Restore',
    metadata: { name: 'r', namespace, ...(annotations && { annotations }) },
    spec,
  }
  const before = JSON.stringify(restore)
  const prepared = prepareRestore({
    restore,
    facts: {
      backups: [backup('b')],
      locations: [location('default', 'Available')],
      discovery: someResources,
      ...facts,
    },
    defaults: { itemOperationTimeout: 4 * 3600 * 1000 },
  })
  assert.equal(JSON.stringify(restore), before)
  return prepared
}

const errorsOf = (spec: RestoreSpec, given?: Given) =>
  prepare({ backupName: 'b', ...spec }, given).validationErrors

describe('A restore that says little', () => {
  it('gets what the server fills in', () => {
    const { restore, validationErrors, backup: chosen, location: where } = prepare({ backupName: 'b' })
    assert.deepEqual(validationErrors, [])
    assert.equal(chosen?.metadata.name, 'b')
    assert.equal(where?.metadata.name, 'default')
    assert.deepEqual(restore.spec, {
      backupName: 'b',
      itemOperationTimeout: '4h0m0s',
      excludedResources: [
        'nodes',
        'events',
        'events.events.k8s.io',
        'backups.velero.io',
        'restores.velero.io',
        'resticrepositories.velero.io',
        'csinodes.storage.k8s.io',
        'volumeattachments.storage.k8s.io',
        'backuprepositories.velero.io',
      ],
    })
  })

  it('keeps what it says', () => {
    const { restore } = prepare({
      backupName: 'b',
      excludedResources: ['x', 'events'],
      itemOperationTimeout: '1h',
    })
    assert.deepEqual(restore.spec.excludedResources?.slice(0, 4), [
      'x',
      'events',
      'nodes',
      'events.events.k8s.io',
    ])
    assert.equal(restore.spec.excludedResources?.filter(each => each === 'events').length, 1)
    assert.equal(restore.spec.itemOperationTimeout, '1h')
    assert.equal(
      prepare({ backupName: 'b', itemOperationTimeout: '0s' }).restore.spec.itemOperationTimeout,
      '4h0m0s',
    )
  })

  it('learns the schedule from the backup', () => {
    const facts = { backups: [backup('b', { schedule: 'nightly' })] }
    assert.equal(prepare({ backupName: 'b' }, { facts }).restore.spec.scheduleName, 'nightly')
  })
})

describe('The backup of a restore', () => {
  const source = 'Either a backup or schedule must be specified as a source for the restore, but not both'

  it('is named, or its schedule is', () => {
    assert.deepEqual(prepare({}).validationErrors, [source])
    assert.deepEqual(errorsOf({ scheduleName: 'nightly' }), [source])
  })

  it('must exist', () => {
    assert.deepEqual(errorsOf({ backupName: 'gone' }), [
      'Error retrieving backup: can\'t find backup velero/gone: Backup.velero.io "gone" not found; restore one that "lateen backup get" shows',
    ])
  })

  const phases: Partial<Record<BackupPhase, boolean>> = {
    Completed: true,
    PartiallyFailed: true,
    New: false,
    Queued: false,
    InProgress: false,
    Finalizing: false,
    FinalizingPartiallyFailed: false,
    Failed: false,
    FailedValidation: false,
    Deleting: false,
  }
  for (const [phase, restorable] of Object.entries(phases) as [BackupPhase, boolean][]) {
    it(`${restorable ? 'may' : 'must not'} be in the phase ${phase}`, () => {
      const over = ['Failed', 'FailedValidation', 'Deleting'].includes(phase)
      const remedy = over ? 'choose another backup' : 'wait until it has ended'
      const message = `The backup b is in the phase ${phase}: only backups that are Completed or PartiallyFailed can be restored; ${remedy}`
      assert.deepEqual(
        errorsOf({}, { facts: { backups: [backup('b', { phase })] } }),
        restorable ? [] : [message],
      )
    })
  }

  it('must have begun', () => {
    const { status: _, ...untouched } = backup('b')
    assert.match(errorsOf({}, { facts: { backups: [untouched] } })[0] ?? '', /in the phase New/)
  })

  it('must be in a location that exists and works', () => {
    assert.deepEqual(errorsOf({}, { facts: { backups: [backup('b', { at: 'gone' })] } }), [
      'Error retrieving backup: BackupStorageLocation.velero.io "gone" not found; create the location again that b is stored in',
    ])
    const unavailable = [
      'The BSL default is unavailable, cannot retrieve the backup; restore again when it is Available',
    ]
    assert.deepEqual(
      errorsOf({}, { facts: { locations: [location('default', 'Unavailable')] } }),
      unavailable,
    )
    assert.deepEqual(errorsOf({}, { facts: { locations: [location('default')] } }), unavailable)
  })

  it('is the newest completed one of a schedule, by when it began', () => {
    const backups = [
      backup('old', { schedule: 'nightly', started: '2025-01-01T00:00:00Z' }),
      backup('best', { schedule: 'nightly', started: '2025-01-03T00:00:00Z' }),
      backup('other', { schedule: 'weekly', started: '2025-01-09T00:00:00Z' }),
      backup('partly', { schedule: 'nightly', started: '2025-01-05T00:00:00Z', phase: 'PartiallyFailed' }),
      backup('running', { schedule: 'nightly', started: '2025-01-06T00:00:00Z', phase: 'InProgress' }),
      backup('timeless', { schedule: 'nightly' }),
    ]
    const {
      restore,
      backup: chosen,
      validationErrors,
    } = prepare({ scheduleName: 'nightly' }, { facts: { backups } })
    assert.deepEqual(validationErrors, [])
    assert.equal(chosen?.metadata.name, 'best')
    assert.equal(restore.spec.backupName, 'best')
    assert.equal(restore.spec.scheduleName, 'nightly')
  })

  it('is found for a schedule whose name is too long for a label', () => {
    const scheduleName = 'nightly-'.repeat(9)
    const schedule = validLabelValue(scheduleName)
    assert.equal(schedule.length, 63)
    const backups = [backup('best', { schedule, started: '2025-01-03T00:00:00Z' })]
    const { restore, validationErrors } = prepare({ scheduleName }, { facts: { backups } })
    assert.deepEqual(validationErrors, [])
    assert.equal(restore.spec.backupName, 'best')
  })

  it('must exist and be completed for a schedule', () => {
    const scheduled = { scheduleName: 'nightly' }
    assert.deepEqual(prepare(scheduled).validationErrors, [
      'No backups found for schedule',
      'No completed backups found for schedule',
    ])
    const backups = [backup('b', { schedule: 'nightly', phase: 'PartiallyFailed' })]
    assert.deepEqual(prepare(scheduled, { facts: { backups } }).validationErrors, [
      'No completed backups found for schedule',
    ])
  })
})

describe('The filters of a restore', () => {
  it('must not include what no restore brings back', () => {
    assert.deepEqual(errorsOf({ includedResources: ['nodes', 'pods'] }), [
      'nodes are non-restorable resources',
      'Invalid included/excluded resource lists: excludes list cannot contain an item in the includes list: nodes',
    ])
  })

  it('must not contradict themselves', () => {
    assert.deepEqual(
      errorsOf({
        includedResources: ['*', 'pods'],
        includedNamespaces: ['a', 'b'],
        excludedNamespaces: ['*', 'b'],
        restoreStatus: { includedResources: ['a'], excludedResources: ['a'] },
      }),
      [
        "Invalid included/excluded resource lists: includes list must either contain '*' only, or a non-empty list of items",
        "Invalid included/excluded namespace lists: excludes list cannot contain '*'",
        'Invalid included/excluded namespace lists: excludes list cannot contain an item in the includes list: b',
        'Invalid included/excluded resource lists of restoreStatus: excludes list cannot contain an item in the includes list: a',
      ],
    )
  })

  it('must be readable', () => {
    assert.match(
      errorsOf({ includedNamespaces: ['a[b'] })[0] ?? '',
      /^Invalid included\/excluded namespace lists: .*a\[b/,
    )
    const bad = { matchExpressions: [{ key: 'a', operator: 'Like' }] }
    const reason = '"Like" is not a valid label selector operator'
    assert.deepEqual(errorsOf({ labelSelector: bad }), [`invalid labelSelector: ${reason}`])
    assert.deepEqual(errorsOf({ orLabelSelectors: [{}, bad] }), [`invalid orLabelSelectors[1]: ${reason}`])
    assert.deepEqual(errorsOf({ labelSelector: {}, orLabelSelectors: [{}] }), [
      'encountered labelSelector as well as orLabelSelectors in restore spec, only one can be specified',
    ])
  })
})

describe('The namespace mapping of a restore', () => {
  const conflict =
    'Invalid namespace mapping: a and b would both be restored into x; ' +
    'map each to a namespace of its own, or restore them one after the other'

  it('must not lead two namespaces into one', () => {
    assert.deepEqual(errorsOf({ namespaceMapping: { b: 'x', a: 'x', c: 'y' } }), [conflict])
  })

  it('may do so for namespaces that are not restored', () => {
    assert.deepEqual(errorsOf({ namespaceMapping: { a: 'x', b: 'x' }, includedNamespaces: ['a'] }), [])
    assert.deepEqual(errorsOf({ namespaceMapping: { a: 'x', b: 'x' }, excludedNamespaces: ['b'] }), [])
    assert.deepEqual(errorsOf({ namespaceMapping: { a: 'b', b: 'a', c: 'c' } }), [])
  })

  for (const target of ['', 'A', 'a.b', '-a', 'a-', 'a b', 'x'.repeat(64)]) {
    it(`must not lead to ${JSON.stringify(target).slice(0, 10)}`, () => {
      const [error, ...others] = errorsOf({ namespaceMapping: { a: target } })
      assert.ok(error?.startsWith(`Invalid namespace mapping ${JSON.stringify(`a:${target}`)}: `), error)
      assert.deepEqual(others, [])
    })
  }
})

describe('What a restore does with objects that exist', () => {
  it('is said in known words', () => {
    for (const policy of ['', 'none', 'update'])
      assert.deepEqual(errorsOf({ existingResourcePolicy: policy }), [])
    for (const policy of ['Update', 'recreate']) {
      assert.deepEqual(errorsOf({ existingResourcePolicy: policy }), [
        `Invalid ExistingResourcePolicy: ${policy}`,
      ])
    }
    const annotated = (value: string) =>
      errorsOf({}, { annotations: { 'lateen.dev/existing-resource-policy': value } })
    assert.deepEqual(annotated('recreate'), [])
    assert.equal(annotated('replace').length, 1)
  })
})

describe('The hooks of a restore', () => {
  const hooksOf = (...initContainers: Record<string, unknown>[]): RestoreSpec => ({
    hooks: { resources: [{ name: 'h', postHooks: [{ init: { initContainers } }] }] },
  })
  const start = 'invalid init container in restore hook "h": '
  const incomplete = `${start}invalid InitContainer in restore hook, it doesn't have Command, Name or Image field`
  const whole = { name: 'i', image: 'busybox', command: ['true'] }

  it('have containers with name, image and command', () => {
    assert.deepEqual(errorsOf(hooksOf(whole)), [])
    const { name: _, ...nameless } = whole
    assert.deepEqual(errorsOf(hooksOf(nameless, { ...whole, image: '' }, { ...whole, command: [] })), [
      incomplete,
      incomplete,
      incomplete,
    ])
    assert.deepEqual(errorsOf(hooksOf({ ...whole, command: 'true', image: 1 })), [
      `${start}image must be a text`,
      `${start}command must be a list of texts`,
    ])
  })

  it('have selectors, patterns and durations that can be read', () => {
    const resources = [
      {
        name: 'h',
        labelSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] },
        includedNamespaces: ['['],
        postHooks: [{ exec: { command: ['true'], waitTimeout: 'soon' } }],
      },
    ]
    const errors = errorsOf({ hooks: { resources } })
    assert.equal(errors.length, 3)
    assert.match(errors[0] ?? '', /^spec\.hooks\.resources\[0\]\.postHooks\[0\]\.exec\.waitTimeout: 'soon'/)
    assert.match(errors[1] ?? '', /^invalid restore hooks: "Like" .* \(in "h"\)$/)
    assert.match(errors[2] ?? '', /^invalid restore hooks: .*pattern/)
  })
})

describe('The policies and modifiers of a restore', () => {
  const resourcePolicy = { kind: 'ConfigMap', name: 'rules' }
  const start = 'invalid restore resource policies: '
  const given = (text: string): Given => ({ facts: { policies: { p: text } } })

  it('are read', () => {
    const text = 'version: v1\nclusterScopedFilterPolicy: {resourceFilters: [{kinds: [pv]}]}'
    const { policies, validationErrors } = prepare({ backupName: 'b', resourcePolicy }, given(text))
    assert.deepEqual(validationErrors, [])
    assert.deepEqual(
      policies?.clusterScopedFilters.map(({ kinds }) => kinds),
      [['pv']],
    )
  })

  it('must exist, in one key of a ConfigMap', () => {
    assert.deepEqual(errorsOf({ resourcePolicy }), [
      `${start}fail to get ResourcePolicies velero/rules ConfigMap: ConfigMap "rules" not found`,
    ])
    assert.match(
      errorsOf({ resourcePolicy }, { facts: { policies: {} } })[0] ?? '',
      /illegal resource policies/,
    )
    assert.deepEqual(errorsOf({ resourcePolicy: { kind: 'Secret', name: 'rules' } }), [
      `${start}invalid ResourcePolicy kind "Secret", only "configmap" is supported`,
    ])
  })

  it('must be valid and for restores', () => {
    const validating = `${start}fail to validate ResourcePolicies in ConfigMap velero/rules: `
    assert.deepEqual(errorsOf({ resourcePolicy }, given('version: v2')), [
      `${validating}version: incompatible version number v2 with supported version v1`,
    ])
    const text =
      'version: v1\nvolumePolicies: [{conditions: {}, action: {type: skip}}]\n' +
      'includeExcludePolicy: {excludedNamespaceScopedResources: [secrets]}'
    assert.deepEqual(errorsOf({ resourcePolicy }, given(text)), [
      `${validating}volumePolicies are not supported for restore; includeExcludePolicy is not supported for restore`,
    ])
  })

  it('must not filter a type twice', () => {
    const text =
      'version: v1\nnamespacedFilterPolicies: [{namespaces: [a], resourceFilters: [{kinds: [po]}, {kinds: [Pod, cm]}]}]'
    const [error, ...others] = errorsOf({ resourcePolicy }, given(text))
    assert.match(error ?? '', /: ambiguous policy: duplicate kind "pods" detected$/)
    assert.deepEqual(others, [])
  })

  it('include modifiers, which must exist and be valid', () => {
    const resourceModifier = { kind: 'configmap', name: 'changes' }
    assert.deepEqual(errorsOf({ resourceModifier }), [
      'failed to get resource modifiers configmap velero/changes: it does not exist; create it there',
    ])
    assert.deepEqual(errorsOf({ resourceModifier }, { facts: { modifiers: { problems: [] } } }), [])
    assert.deepEqual(
      errorsOf({ resourceModifier }, { facts: { modifiers: { problems: ['line 3: x', 'line 5: y'] } } }),
      [
        'Validation error in resource modifiers provided in configmap velero/changes: line 3: x',
        'Validation error in resource modifiers provided in configmap velero/changes: line 5: y',
      ],
    )
    assert.deepEqual(errorsOf({ resourceModifier: { kind: 'Secret', name: 'x' } }), [
      'invalid ResourceModifier kind "Secret", only "configmap" is supported',
    ])
  })
})

describe('prepareRestore', () => {
  it('finds all errors at once', () => {
    const errors = prepare({
      itemOperationTimeout: 'x',
      backupName: 'gone',
      includedResources: ['events'],
      includedNamespaces: ['a', '*'],
      namespaceMapping: { a: 'A' },
      labelSelector: {},
      orLabelSelectors: [],
      hooks: { resources: [{ name: 'h', includedNamespaces: ['['] }] },
      existingResourcePolicy: 'x',
      resourcePolicy: { kind: 'configmap', name: 'gone' },
      resourceModifier: { kind: 'configmap', name: 'gone' },
    }).validationErrors
    const beginnings = [
      'spec.itemOperationTimeout: ',
      'events are non-restorable',
      'Invalid included/excluded resource lists',
      'Invalid included/excluded namespace lists',
      'Invalid namespace mapping',
      'encountered labelSelector',
      'invalid restore hooks',
      'Invalid ExistingResourcePolicy',
      'Error retrieving backup',
      'invalid restore resource policies',
      'failed to get resource modifiers',
    ]
    assert.equal(errors.length, beginnings.length)
    for (const [index, start] of beginnings.entries())
      assert.ok(errors[index]?.startsWith(start), errors[index])
  })

  it('does not throw, whatever texts are in the spec', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 6 }),
      fc.constantFrom('*', '[', '{', 'pods', 'a.b', '1h', '__proto__'),
    )
    const texts = fc.array(text, { maxLength: 3 })
    const selector = fc.record({
      matchLabels: fc.dictionary(text, text, { maxKeys: 2 }),
      matchExpressions: fc.array(fc.record({ key: text, operator: text, values: texts }), { maxLength: 2 }),
    })
    const hook = fc.record({
      name: text,
      includedNamespaces: texts,
      labelSelector: selector,
      postHooks: fc.array(
        fc.record({ init: fc.record({ initContainers: fc.array(fc.object({ maxDepth: 1 })) }) }),
        {
          maxLength: 1,
        },
      ),
    })
    const spec = fc.record(
      {
        backupName: fc.constantFrom('b', 'x', ''),
        scheduleName: text,
        itemOperationTimeout: text,
        includedNamespaces: texts,
        excludedNamespaces: texts,
        includedResources: texts,
        namespaceMapping: fc.dictionary(text, text, { maxKeys: 3 }),
        labelSelector: selector,
        existingResourcePolicy: text,
        resourcePolicy: fc.record({ kind: fc.constantFrom('configmap', 'x'), name: text }),
        resourceModifier: fc.record({ kind: fc.constantFrom('configmap', 'x'), name: text }),
        hooks: fc.record({ resources: fc.array(hook, { maxLength: 1 }) }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(spec, fc.option(fc.string(), { nil: undefined }), (each, policies) => {
        prepare(each as RestoreSpec, {
          facts: { policies: policies === undefined ? undefined : { p: policies } },
        })
      }),
    )
  })
})

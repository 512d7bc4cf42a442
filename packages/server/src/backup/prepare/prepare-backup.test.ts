import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backup, BackupSpec, BackupStorageLocation, VolumeSnapshotLocation } from '@lateen/api'
import fc from 'fast-check'
import { someResources } from '../../filters/testing/some-resources.ts'
import { type BackupDefaults, type BackupFacts, prepareBackup } from './prepare-backup.ts'

const minute = 60_000
const hour = 60 * minute
const now = Date.UTC(2026, 0, 2, 3, 4, 5)

const defaults: BackupDefaults = {
  ttl: 720 * hour,
  volumeGroupSnapshotLabelKey: 'velero.io/volume-group',
  csiSnapshotTimeout: 10 * minute,
  itemOperationTimeout: 4 * hour,
  volumesToFsBackup: false,
  snapshotMoveData: false,
  storageLocation: 'default',
  snapshotLocations: {},
  resourceTimeout: 10 * minute,
  globalVolumePolicies: '',
}

function location(name: string, fields: Partial<BackupStorageLocation['spec']> = {}): BackupStorageLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name, namespace: 'velero' },
    spec: { provider: 'aws', objectStorage: { bucket: 'b' }, ...fields },
    status: { phase: 'Available' },
  }
}

function snapshotLocation(name: string, provider: string): VolumeSnapshotLocation {
  const metadata = { name, namespace: 'velero' }
  return { apiVersion: 'velero.io/v1', kind: 'VolumeSnapshotLocation', metadata, spec: { provider } }
}

const facts: BackupFacts = {
  locations: [location('default')],
  snapshotLocations: [],
  excludedNamespaces: [],
  serverVersion: { gitVersion: 'v1.34.4', major: '1', minor: '34' },
  discovery: someResources,
}

function backupOf(spec: BackupSpec): Backup {
  const metadata = { name: 'nightly', namespace: 'velero' }
  return { apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec }
}

interface Given {
  facts?: Partial<BackupFacts>
  defaults?: Partial<BackupDefaults>
}

function prepare(spec: BackupSpec, given: Given = {}) {
  return prepareBackup({
    backup: backupOf(spec),
    facts: { ...facts, ...given.facts },
    defaults: { ...defaults, ...given.defaults },
    now,
  })
}

function errorsOf(spec: BackupSpec, given?: Given): readonly string[] {
  return prepare(spec, given).validationErrors
}

describe('defaults', () => {
  it('fill in what a backup does not say', () => {
    const { backup, validationErrors } = prepare({})
    assert.deepEqual(validationErrors, [])
    assert.deepEqual(backup.spec, {
      ttl: '720h0m0s',
      volumeGroupSnapshotLabelKey: 'velero.io/volume-group',
      csiSnapshotTimeout: '10m0s',
      itemOperationTimeout: '4h0m0s',
      defaultVolumesToFsBackup: false,
      snapshotMoveData: false,
      storageLocation: 'default',
      includedNamespaces: ['*'],
      excludedClusterScopedResources: ['volumesnapshotcontents.snapshot.storage.k8s.io'],
      excludedNamespaceScopedResources: ['volumesnapshots.snapshot.storage.k8s.io'],
    })
    assert.deepEqual(backup.metadata, {
      name: 'nightly',
      namespace: 'velero',
      labels: { 'velero.io/storage-location': 'default' },
      annotations: {
        'velero.io/source-cluster-k8s-gitversion': 'v1.34.4',
        'velero.io/source-cluster-k8s-major-version': '1',
        'velero.io/source-cluster-k8s-minor-version': '34',
        'velero.io/resource-timeout': '10m0s',
      },
    })
    assert.deepEqual(backup.status, {
      version: 1,
      formatVersion: '1.1.0',
      expiration: '2026-02-01T03:04:05Z',
    })
  })

  it('leave alone what a backup says', () => {
    const spec = {
      ttl: '24h',
      volumeGroupSnapshotLabelKey: 'group',
      csiSnapshotTimeout: '1m',
      itemOperationTimeout: '1h',
      defaultVolumesToFsBackup: true,
      snapshotMoveData: true,
      storageLocation: 'default',
      includedNamespaces: ['shop'],
    }
    const { backup } = prepare(spec)
    for (const [field, value] of Object.entries(spec)) {
      assert.deepEqual(backup.spec[field as keyof BackupSpec], value, field)
    }
    assert.equal(backup.status?.expiration, '2026-01-03T03:04:05Z')
  })

  it('take zero for nothing said', () => {
    const { backup } = prepare({ ttl: '0s', csiSnapshotTimeout: '0', itemOperationTimeout: '' })
    assert.equal(backup.spec.ttl, '720h0m0s')
    assert.equal(backup.spec.csiSnapshotTimeout, '10m0s')
    assert.equal(backup.spec.itemOperationTimeout, '4h0m0s')
  })

  it('refuses a time to live that is negative', () => {
    assert.deepEqual(errorsOf({ ttl: '-1h' }), ['invalid ttl "-1h": it must not be negative'])
    assert.deepEqual(errorsOf({ ttl: '1ns' }), [])
  })

  it('read the old name of defaultVolumesToFsBackup when it is true', () => {
    const spec = { defaultVolumesToRestic: true, defaultVolumesToFsBackup: false }
    const { backup, warnings } = prepare(spec)
    assert.equal(backup.spec.defaultVolumesToFsBackup, true)
    assert.equal(warnings.length, 1)
    const off = prepare({ defaultVolumesToRestic: false }, { defaults: { volumesToFsBackup: true } })
    assert.equal(off.backup.spec.defaultVolumesToFsBackup, true)
    assert.deepEqual(off.warnings, [])
  })

  it('shorten the name of the location to a label', () => {
    const name = 'x'.repeat(80)
    const { backup } = prepare({ storageLocation: name }, { facts: { locations: [location(name)] } })
    assert.equal(backup.metadata.labels?.['velero.io/storage-location']?.length, 63)
  })

  it('exclude namespaces that are labelled so, once', () => {
    const { backup } = prepare(
      { excludedNamespaces: ['a'] },
      { facts: { excludedNamespaces: ['a', 'kube-system'] } },
    )
    assert.deepEqual(backup.spec.excludedNamespaces, ['a', 'kube-system'])
  })

  it('do not change the backup that was given, nor a prepared one', () => {
    const backup = backupOf({ excludedNamespaces: ['a'], includedResources: ['pods'] })
    const before = structuredClone(backup)
    const options = { facts: { ...facts, excludedNamespaces: ['b'] }, defaults, now }
    const once = prepareBackup({ backup, ...options })
    assert.deepEqual(backup, before)
    assert.deepEqual(prepareBackup({ backup: once.backup, ...options }).backup, once.backup)
  })
})

describe('storage locations', () => {
  it('are the one that is named, else the marked one, else the server’s', () => {
    const locations = [location('default'), location('z', { default: true }), location('other')]
    const chosen = (spec: BackupSpec, existing = locations) =>
      prepare(spec, { facts: { locations: existing } }).storageLocation?.metadata.name
    assert.equal(chosen({ storageLocation: 'other' }), 'other')
    assert.equal(chosen({}), 'z')
    assert.equal(chosen({}, [location('default'), location('other')]), 'default')
  })

  it('must exist', () => {
    assert.deepEqual(errorsOf({ storageLocation: 'gone' }), [
      'an existing backup storage location was not specified at backup creation time and the default gone was not found. ' +
        'Please address this issue (see `velero backup-location -h` for options) and create a new backup. ' +
        'Error: BackupStorageLocation.velero.io "gone" not found',
    ])
    assert.match(
      errorsOf({}, { facts: { locations: [] } }).join(),
      /and the server default default does not exist\. Please address this issue/,
    )
  })

  it('must be writable and known to work', () => {
    const unusable = {
      ...location('default', { accessMode: 'ReadOnly' }),
      status: { phase: 'Unavailable' as const },
    }
    assert.deepEqual(errorsOf({}, { facts: { locations: [unusable] } }), [
      "backup can't be created because backup storage location default is currently in read-only mode",
      "backup can't be created because BackupStorageLocation default is in Unavailable status.",
    ])
    const { status: _, ...unchecked } = location('default')
    assert.equal(errorsOf({}, { facts: { locations: [unchecked] } }).length, 1)
  })
})

describe('snapshot locations', () => {
  const one = snapshotLocation('one', 'aws')
  const two = snapshotLocation('two', 'aws')
  const gcp = snapshotLocation('gcp', 'gcp')
  const given = (existing: VolumeSnapshotLocation[], serverDefaults = {}): Given => ({
    facts: { snapshotLocations: existing },
    defaults: { snapshotLocations: serverDefaults },
  })
  const chosen = (spec: BackupSpec, context: Given) => {
    const { backup, snapshotLocations, validationErrors } = prepare(spec, context)
    assert.deepEqual(validationErrors, [])
    assert.deepEqual(
      snapshotLocations.map(({ metadata }) => metadata.name),
      backup.spec.volumeSnapshotLocations ?? [],
    )
    return backup.spec.volumeSnapshotLocations ?? []
  }

  it('are the only one of each provider', () => {
    assert.deepEqual(chosen({}, given([one, gcp])), ['one', 'gcp'])
  })

  it('are the named ones and those of other providers', () => {
    assert.deepEqual(chosen({ volumeSnapshotLocations: ['two', 'two'] }, given([one, two, gcp])), [
      'two',
      'gcp',
    ])
  })

  it('are the server’s default of a provider with several', () => {
    assert.deepEqual(chosen({}, given([one, two], { aws: 'two' })), ['two'])
  })

  it('do not matter to a backup without snapshots that names none', () => {
    assert.deepEqual(chosen({ snapshotVolumes: false }, given([one, two])), [])
  })

  it('must be clear', () => {
    assert.deepEqual(errorsOf({}, given([one, two])), [
      'provider aws has more than one possible volume snapshot location, and none were specified explicitly or as a default',
    ])
    assert.deepEqual(errorsOf({}, given([one, two], { aws: 'gone' })), [
      'error getting volume snapshot location named gone: VolumeSnapshotLocation.velero.io "gone" not found',
    ])
  })

  it('must exist, one for each provider', () => {
    assert.deepEqual(errorsOf({ volumeSnapshotLocations: ['gone', 'one', 'two'] }, given([one, two])), [
      'a VolumeSnapshotLocation CRD for the location gone with the name specified in the backup spec needs to be created ' +
        'before this snapshot can be executed. Error: VolumeSnapshotLocation.velero.io "gone" not found',
      'more than one VolumeSnapshotLocation name specified for provider aws: two; unexpected name was one',
    ])
  })
})

describe('filters', () => {
  const snapshots = 'volumesnapshots.snapshot.storage.k8s.io'
  const contents = 'volumesnapshotcontents.snapshot.storage.k8s.io'

  it('leave out what CSI makes, in the style that the backup uses', () => {
    assert.deepEqual(prepare({ includedResources: ['pods'] }).backup.spec.excludedResources, [
      snapshots,
      contents,
    ])
    const scoped = prepare({ excludedNamespaceScopedResources: ['secrets', snapshots] }).backup.spec
    assert.deepEqual(scoped.excludedNamespaceScopedResources, ['secrets', snapshots])
    assert.deepEqual(scoped.excludedClusterScopedResources, [contents])
    assert.equal(scoped.excludedResources, undefined)
  })

  it('keep what CSI makes when the backup names it', () => {
    assert.deepEqual(prepare({ includedResources: ['vs'] }).backup.spec.excludedResources, [contents])
    const spec = { includedNamespaceScopedResources: [snapshots], includedClusterScopedResources: [contents] }
    const prepared = prepare(spec).backup.spec
    assert.equal(prepared.excludedNamespaceScopedResources, undefined)
    assert.equal(prepared.excludedClusterScopedResources, undefined)
  })

  it('must be of one style', () => {
    const errors = errorsOf({ includeClusterResources: true, includedClusterScopedResources: ['pv'] })
    assert.equal(errors.length, 1)
    assert.match(
      errors[0] ?? '',
      /are old filter parameters\.\ninclude-cluster-scoped.*\nThey cannot be used together$/,
    )
  })

  it('must not contradict themselves', () => {
    assert.deepEqual(
      errorsOf({
        includedResources: ['*', 'pods'],
        excludedResources: ['pods', '*'],
        includedNamespaces: ['a', '*'],
      }),
      [
        "Invalid included/excluded resource lists: includes list must either contain '*' only, or a non-empty list of items",
        "Invalid included/excluded resource lists: excludes list cannot contain '*'",
        'Invalid included/excluded resource lists: excludes list cannot contain an item in the includes list: *',
        'Invalid included/excluded resource lists: excludes list cannot contain an item in the includes list: pods',
        "Invalid included/excluded namespace lists: includes list must either contain '*' only, or a non-empty list of items",
      ],
    )
    assert.deepEqual(
      errorsOf({
        includedClusterScopedResources: ['pv'],
        excludedClusterScopedResources: ['*', 'pv'],
        includedNamespaceScopedResources: ['pods'],
        excludedNamespaceScopedResources: ['pods'],
      }),
      [
        "Invalid cluster-scoped included/excluded resource lists: excludes list must either contain '*' only, or a non-empty list of items",
        "Invalid cluster-scoped included/excluded resource lists: when exclude is '*', include cannot have value",
        'Invalid cluster-scoped included/excluded resource lists: excludes list cannot contain an item in the includes list: pv',
        'Invalid namespace-scoped included/excluded resource lists: excludes list cannot contain an item in the includes list: pods',
      ],
    )
    assert.deepEqual(
      errorsOf({ excludedClusterScopedResources: ['*'], excludedNamespaceScopedResources: ['*'] }),
      [],
    )
  })

  const namespaces: Record<string, string | undefined> = {
    shop: undefined,
    '': undefined,
    'team-*': undefined,
    'team-[ab]?': undefined,
    'a**': 'wildcard pattern contains consecutive asterisks (only single * allowed)',
    'a|b': 'wildcard pattern contains unsupported characters: |, (, ), !, {, }, ,',
    'a[': "wildcard pattern contains unclosed bracket '['",
    'a]': "wildcard pattern contains unmatched closing bracket ']'",
    'a[]': "wildcard pattern contains empty bracket pattern '[]'",
    'a[a-z0-9]': 'expected close range character',
    'a.b': 'invalid namespace "a.b": must not contain dots',
    [`a${'b'.repeat(63)}`]: `invalid namespace "a${'b'.repeat(63)}": must be no more than 63 characters`,
    Shop:
      'invalid namespace "Shop": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \'-\', ' +
      "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  }
  for (const [name, problem] of Object.entries(namespaces)) {
    it(`${problem === undefined ? 'may' : 'must not'} name the namespace ${JSON.stringify(name).slice(0, 20)}`, () => {
      const expected = problem === undefined ? [] : [`Invalid included/excluded namespace lists: ${problem}`]
      assert.deepEqual(errorsOf({ includedNamespaces: [name] }), expected)
      assert.deepEqual(errorsOf({ excludedNamespaces: [name] }), expected)
    })
  }

  it('must not include a namespace that is labelled as excluded', () => {
    assert.deepEqual(errorsOf({ includedNamespaces: ['a'] }, { facts: { excludedNamespaces: ['a'] } }), [
      'Invalid included/excluded namespace lists: excludes list cannot contain an item in the includes list: a',
    ])
  })
})

describe('selectors and hooks', () => {
  it('must be one selector or several', () => {
    assert.deepEqual(errorsOf({ labelSelector: {}, orLabelSelectors: [{}] }), [
      'encountered labelSelector as well as orLabelSelectors in backup spec, only one can be specified',
    ])
  })

  it('must be readable', () => {
    const bad = { matchExpressions: [{ key: 'a', operator: 'Like', values: ['b'] }] }
    const reason = '"Like" is not a valid label selector operator'
    assert.deepEqual(errorsOf({ labelSelector: bad }), [`invalid labelSelector: ${reason}`])
    assert.deepEqual(errorsOf({ orLabelSelectors: [{}, bad] }), [`invalid orLabelSelectors[1]: ${reason}`])
    assert.deepEqual(errorsOf({ hooks: { resources: [{ name: 'freeze', labelSelector: bad }] } }), [
      `invalid hook "freeze": ${reason}`,
    ])
  })

  it('must match the schema', () => {
    const hook = { exec: { command: [], timeout: 'soon' } }
    const hint = 'write one such as 10m, 1h30m or 720h0m0s'
    assert.deepEqual(errorsOf({ ttl: 'forever', hooks: { resources: [{ name: 'freeze', pre: [hook] }] } }), [
      `spec.ttl: 'forever' is not a duration; ${hint}`,
      'spec.hooks.resources[0].pre[0].exec.command: must have at least 1 item(s)',
      `spec.hooks.resources[0].pre[0].exec.timeout: 'soon' is not a duration; ${hint}`,
    ])
  })
})

describe('policies', () => {
  const resourcePolicy = { kind: 'ConfigMap', name: 'rules' }
  const skipAll = 'version: v1\nvolumePolicies: [{conditions: {}, action: {type: skip}}]'
  const global = { globalVolumePolicies: 'all-backups' }

  it('are those of the backup, then those of the server', () => {
    const { policies, validationErrors, backup } = prepare(
      { resourcePolicy },
      {
        facts: { policies: { p: skipAll }, globalPolicies: { p: skipAll.replace('skip', 'snapshot') } },
        defaults: global,
      },
    )
    assert.deepEqual(validationErrors, [])
    assert.deepEqual(
      policies?.volumePolicies.map(({ action }) => action.type),
      ['skip', 'snapshot'],
    )
    assert.equal(
      backup.metadata.annotations?.['velero.io/global-backup-volume-policy-configmap'],
      'all-backups',
    )
  })

  it('must exist', () => {
    assert.deepEqual(errorsOf({ resourcePolicy }, { defaults: global }), [
      'invalid resource policies: fail to get ResourcePolicies velero/rules ConfigMap: ConfigMap "rules" not found',
      'invalid resource policies: fail to get global backup volume policies ConfigMap velero/all-backups: ' +
        'ConfigMap "all-backups" not found',
    ])
  })

  it('must be in a ConfigMap with one key', () => {
    const [error, ...others] = errorsOf(
      { resourcePolicy },
      { facts: { policies: { a: skipAll, b: skipAll } } },
    )
    assert.match(error ?? '', /illegal resource policies velero\/rules configmap/)
    assert.deepEqual(others, [])
    assert.deepEqual(errorsOf({ resourcePolicy: { kind: 'Secret', name: 'rules' } }), [
      'invalid resource policies: invalid ResourcePolicy kind "Secret", only "configmap" is supported',
    ])
  })

  it('must be valid, and say all that is wrong in one message', () => {
    const text = 'version: v2\nvolumePolicies: [{conditions: {a: 1}, action: {type: burn}}]'
    assert.deepEqual(errorsOf({ resourcePolicy }, { facts: { policies: { p: text } } }), [
      'invalid resource policies: fail to validate ResourcePolicies in ConfigMap velero/rules: ' +
        'version: incompatible version number v2 with supported version v1; ' +
        'volumePolicies[0].conditions.a: unknown field; ' +
        'volumePolicies[0].action: invalid action type burn (one of skip, fs-backup, snapshot, custom)',
    ])
  })

  it('do not go with the old filters', () => {
    const text = `
version: v1
includeExcludePolicy: {excludedNamespaceScopedResources: [secrets]}
clusterScopedFilterPolicy: {resourceFilters: [{kinds: [pv]}]}
`
    const old =
      'include-resources, exclude-resources and include-cluster-resources are old filter parameters.\n'
    const given = { facts: { policies: { p: text } } }
    assert.deepEqual(errorsOf({ resourcePolicy, includeClusterResources: true }, given), [
      `${old}They cannot be used with include-exclude policies.`,
      `${old}They cannot be used with namespace-scoped or fine-grained global filter policies.`,
    ])
    assert.deepEqual(errorsOf({ resourcePolicy }, given), [])
  })

  it('of the server may only be about volumes', () => {
    const text = `${skipAll}\nincludeExcludePolicy: {excludedNamespaceScopedResources: [secrets]}`
    const { warnings, policies } = prepare({}, { facts: { globalPolicies: { p: text } }, defaults: global })
    assert.deepEqual(
      warnings.map(({ fields }) => fields),
      [{ configMap: 'velero/all-backups' }],
    )
    assert.equal(policies?.includeExcludePolicy, undefined)
  })
})

describe('prepareBackup', () => {
  it('finds all errors, in the order in which the spec is looked at', () => {
    const errors = errorsOf({
      ttl: 'x',
      storageLocation: 'gone',
      volumeSnapshotLocations: ['gone'],
      includedResources: ['a'],
      excludedResources: ['a'],
      includedClusterScopedResources: ['b'],
      includedNamespaces: ['A'],
      labelSelector: {},
      orLabelSelectors: [{}],
      resourcePolicy: { kind: 'configmap', name: 'gone' },
      hooks: { resources: [{ name: 'h', includedNamespaces: ['['] }] },
    })
    const beginnings = [
      'spec.ttl:',
      'an existing backup storage location',
      'a VolumeSnapshotLocation CRD',
      'include-resources, exclude-resources',
      'Invalid included/excluded resource lists',
      'Invalid included/excluded namespace lists',
      'encountered labelSelector',
      'invalid resource policies',
      'invalid hook "h"',
    ]
    assert.deepEqual(
      errors.map((error, index) => error.startsWith(beginnings[index] ?? '-')),
      beginnings.map(() => true),
    )
  })

  it('does not throw, whatever texts are in the spec', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 6 }),
      fc.constantFrom('*', '[', '{', '**', 'pods', 'a.b', '1h'),
    )
    const texts = fc.array(text, { maxLength: 3 })
    const selector = fc.record({
      matchLabels: fc.dictionary(text, text, { maxKeys: 2 }),
      matchExpressions: fc.array(fc.record({ key: text, operator: text, values: texts }), { maxLength: 2 }),
    })
    const spec = fc.record(
      {
        ttl: text,
        includedNamespaces: texts,
        excludedNamespaces: texts,
        includedResources: texts,
        excludedNamespaceScopedResources: texts,
        labelSelector: selector,
        orderedResources: fc.dictionary(text, text, { maxKeys: 2 }),
        volumeSnapshotLocations: texts,
        resourcePolicy: fc.record({ kind: fc.constantFrom('configmap', 'x'), name: text }),
        hooks: fc.record({
          resources: fc.array(fc.record({ name: text, includedNamespaces: texts }), { maxLength: 1 }),
        }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(spec, fc.option(fc.string(), { nil: undefined }), (each, policies) => {
        prepare(each, { facts: { policies: policies === undefined ? undefined : { p: policies } } })
      }),
    )
  })
})

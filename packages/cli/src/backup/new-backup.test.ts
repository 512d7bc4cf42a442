import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Schedule } from '@lateen/api'
import { parseCommandLine } from '../parse/command-line.ts'
import { readFlagValues } from '../parse/flag-values.ts'
import { backupCreateFlags } from '../tree/backup.ts'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'
import { backupFromSchedule, timestampedName } from './backup-from-schedule.ts'
import { type BackupCreateFlags, checkBackupFlags, newBackup } from './new-backup.ts'

function flagsOf(...argv: string[]): BackupCreateFlags {
  const parsed = parseCommandLine(commandTree, globalFlags, ['backup', 'create', 'a', ...argv])
  const given = parsed.want === 'run' ? parsed.given : new Map()
  return readFlagValues(backupCreateFlags, given) as BackupCreateFlags
}

function backup(...argv: string[]) {
  return newBackup({ name: 'a', namespace: 'ns', flags: flagsOf(...argv) })
}

const untold = { metadata: {}, hooks: {}, ttl: '0s', csiSnapshotTimeout: '0s', itemOperationTimeout: '0s' }

describe('newBackup', () => {
  it('takes all namespaces and leaves the rest to the server when nothing is said', () => {
    assert.deepEqual(backup(), {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name: 'a', namespace: 'ns' },
      spec: { ...untold, includedNamespaces: ['*'] },
    })
  })

  it('holds everything that was asked for', () => {
    const { metadata, spec } = backup(
      ...['--labels=a=b', '--annotations=c=d', '--include-namespaces=x,y', '--exclude-namespaces', 'z'],
      ...[
        '--include-resources=pods',
        '--exclude-resources=secrets,events',
        '--include-cluster-resources=false',
      ],
      ...['-l', 'app=web', '--storage-location=here', '--volume-snapshot-locations=s,t', '--ttl=1h'],
      ...['--csi-snapshot-timeout=90s', '--item-operation-timeout=2h', '--ordered-resources=pods=x/p;pv=q'],
      ...['--snapshot-volumes', '--snapshot-move-data=true', '--default-volumes-to-fs-backup=0'],
      ...['--data-mover=other', '--resource-policies-configmap=policies', '--parallel-files-upload=4'],
    )
    assert.deepEqual(metadata, { name: 'a', namespace: 'ns', labels: { a: 'b' }, annotations: { c: 'd' } })
    assert.deepEqual(spec, {
      metadata: {},
      hooks: {},
      includedNamespaces: ['x', 'y'],
      excludedNamespaces: ['z'],
      includedResources: ['pods'],
      excludedResources: ['secrets', 'events'],
      includeClusterResources: false,
      labelSelector: { matchLabels: { app: 'web' } },
      storageLocation: 'here',
      volumeSnapshotLocations: ['s', 't'],
      ttl: '1h0m0s',
      csiSnapshotTimeout: '1m30s',
      itemOperationTimeout: '2h0m0s',
      orderedResources: { pods: 'x/p', pv: 'q' },
      snapshotVolumes: true,
      snapshotMoveData: true,
      defaultVolumesToFsBackup: false,
      datamover: 'other',
      resourcePolicy: { kind: 'configmap', name: 'policies' },
      uploaderConfig: { parallelFilesUpload: 4 },
    })
  })

  it('knows the filters by scope, several selectors, and what has no namespace', () => {
    const { spec } = backup(
      ...['--include-cluster-scoped-resources=*', '--exclude-cluster-scoped-resources=nodes'],
      ...['--include-namespace-scoped-resources=pods', '--exclude-namespace-scoped-resources=secrets'],
      ...['--or-selector', 'a=b or c', '--include-namespaces='],
    )
    assert.deepEqual(spec, {
      ...untold,
      includedNamespaces: [''],
      includedClusterScopedResources: ['*'],
      excludedClusterScopedResources: ['nodes'],
      includedNamespaceScopedResources: ['pods'],
      excludedNamespaceScopedResources: ['secrets'],
      orLabelSelectors: [
        { matchLabels: { a: 'b' } },
        { matchExpressions: [{ key: 'c', operator: 'Exists' }] },
      ],
    })
  })
})

describe('checkBackupFlags', () => {
  const refused: [string[], RegExp][] = [
    [['-l', 'a=b', '--or-selector', 'c=d'], /either a 'selector' or an 'or-selector'/],
    [
      ['--include-namespaces=A', '--exclude-namespaces=*'],
      /^\[excludes list cannot contain '\*', invalid namespace "A": .*\]$/,
    ],
    [['--include-resources=a', '--exclude-cluster-scoped-resources=b'], /They cannot be used together/],
    [
      ['--include-cluster-resources', '--include-namespace-scoped-resources=b'],
      /They cannot be used together/,
    ],
  ]
  for (const [argv, message] of refused) {
    it(`refuses ${argv.join(' ')}`, () => {
      assert.throws(() => checkBackupFlags(flagsOf(...argv)), { code: 'USAGE', message })
    })
  }

  it('has nothing against either family of filters', () => {
    checkBackupFlags(flagsOf('--include-resources=a', '--include-cluster-resources=false', '-l', 'a'))
    checkBackupFlags(flagsOf('--include-cluster-scoped-resources=a', '--or-selector', 'a or b'))
  })
})

describe('backupFromSchedule', () => {
  const schedule: Schedule = {
    apiVersion: 'velero.io/v1',
    kind: 'Schedule',
    metadata: {
      name: 'daily',
      namespace: 'ns',
      uid: 'u',
      labels: { of: 'schedule' },
      annotations: { x: 'y' },
    },
    spec: { schedule: '@daily', template: { ttl: '24h0m0s', includedNamespaces: ['shop'] } },
  }

  it('takes the template, and labels and annotations of the schedule', () => {
    const made = backupFromSchedule(schedule, {
      name: 'b',
      namespace: 'ns',
      flags: flagsOf('--labels=more=1', '--include-namespaces=ignored'),
    })
    assert.deepEqual(made.spec, schedule.spec.template)
    assert.deepEqual(made.metadata, {
      name: 'b',
      namespace: 'ns',
      labels: { of: 'schedule', 'velero.io/schedule-name': 'daily', more: '1' },
      annotations: { x: 'y' },
    })
  })

  it('prefers the labels of the template, and is owned by the schedule if that wants it', () => {
    const owner = structuredClone(schedule)
    owner.spec.useOwnerReferencesInBackup = true
    owner.spec.template.metadata = { labels: { of: 'template' } }
    const { metadata } = backupFromSchedule(owner, { name: 'b', namespace: 'ns', flags: flagsOf() })
    assert.deepEqual(metadata.labels, { of: 'template', 'velero.io/schedule-name': 'daily' })
    assert.deepEqual(metadata.ownerReferences, [
      { apiVersion: 'velero.io/v1', kind: 'Schedule', name: 'daily', uid: 'u', controller: true },
    ])
  })

  it('is named after the schedule and the second, in UTC', () => {
    assert.equal(timestampedName('daily', Date.UTC(2026, 0, 2, 3, 4, 5, 678)), 'daily-20260102030405')
  })
})
